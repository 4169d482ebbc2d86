import { expect, test } from 'vitest';
import { joinedLine } from './split-line.ts';

const prompt = {
  arguments: ['task', 'engine', 'access'].map((name) => ({
    name,
    description: name,
    required: name === 'task'
  }))
};

test('what Claude Code cuts at spaces is put together again', () => {
  const given = { task: 'Fix', engine: 'the', access: 'parser' };
  const line = joinedLine(prompt, given, 'claude-code');
  expect(line.given).toEqual({ task: 'Fix the parser' });
  expect(line.note).toContain('`<command-args>`');
  expect(line.note).toContain('`engine` and `access`');
});

test('a single word may be the first of a line', () => {
  const line = joinedLine(prompt, { task: 'Fix' }, 'claude-code');
  expect(line.given).toEqual({ task: 'Fix' });
  expect(line.note).toContain('`<command-args>`');
});

test.each([
  ['a value with a space', 'claude-code', { task: 'Fix it', engine: 'codex' }],
  ['another client', 'gemini-cli', { task: 'Fix', engine: 'codex' }],
  // It has a form with a field for each.
  ['Claude Desktop', 'claude-ai', { task: 'Fix', engine: 'codex' }]
])('%s is left as it is', (_, clientName, given) => {
  expect(joinedLine(prompt, given, clientName)).toEqual({ given });
});
