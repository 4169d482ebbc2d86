import { expect, test } from 'vitest';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import { joinedLine, Prompts } from './prompts.ts';

const prompt = {
  arguments: ['task', 'engine', 'access'].map((name) => ({
    name,
    description: name,
    required: name === 'task'
  }))
};

test('a line that Claude Code split at spaces is joined again', () => {
  const words = { task: 'Fix', engine: 'the', access: 'parser' };
  const line = joinedLine(prompt, words, 'claude-code');
  expect(line.values).toEqual({ task: 'Fix the parser' });
  expect(line.note).toContain('`<command-args>`');
  expect(line.note).toContain('`engine` and `access`');
});

test('a single word may be the beginning of a longer line', () => {
  const line = joinedLine(prompt, { task: 'Fix' }, 'claude-code');
  expect(line.values).toEqual({ task: 'Fix' });
  expect(line.note).toContain('`<command-args>`');
});

test.each([
  ['a value with a space', 'claude-code', { task: 'Fix it', engine: 'codex' }],
  ['another client', 'gemini-cli', { task: 'Fix', engine: 'codex' }],
  // This client has a form with a field for each argument.
  ['Claude Desktop', 'claude-ai', { task: 'Fix', engine: 'codex' }]
])('%s stays unchanged', (_, clientName, values) => {
  expect(joinedLine(prompt, values, clientName)).toEqual({ values });
});

test('a prompt has the values of the user, and the defaults of the others', async () => {
  const { host } = await hostHere();
  const given = { task: 'Fix it.', engine: 'none' };
  const { text } = await new Prompts(host).get('delegate', given, 'codex');
  expect(text).toContain('\n\n```text\nFix it.\n```\n\n');
  expect(text).toContain('- Engine: `none` (this server has rehearsal)\n');
  expect(text).toContain('- Access: not named, choose the least');
});
