import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type CommandOptions,
  runCommand,
  startCommand
} from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.program(
    'thinking-program',
    `const prompt = require('node:fs').readFileSync(0, 'utf8');
    console.log(prompt.length + ' characters, ' +
      (prompt.includes('the notes') ? 'with notes' : 'without notes'));
    console.log('VERDICT: it is safe');`
  );
  workspace.write(
    'thinker.mjs',
    `export default { kind: 'cli', name: 'thinker', description: 'For tests.',
      command: 'thinking-program', args: () => [] };`
  );
  workspace.write(
    '.trouperc.json',
    JSON.stringify({ plugins: ['./thinker.mjs'] })
  );
  workspace.write('notes.txt', 'the notes\n');
});

afterEach(() => workspace.remove());

const troupe = (args: string[], options?: CommandOptions) =>
  runCommand(workspace, args, options);

const both = ['--engines', 'thinker,rehearsal'];

test('ask prints the answer of each engine under its name', async () => {
  const context = ['--context', 'notes.txt'];
  const asked = await troupe(['ask', ...both, 'say I agree', ...context]);
  expect(asked.code).toBe(0);
  expect(asked.stdout).toMatch(
    /^## thinker\n\n\d+ characters, with notes\nVERDICT: it is safe\n\n## rehearsal\n\nRehearsal, no model was asked\.\nI agree\n/
  );
  expect(asked.stderr).toContain('troupe: asking thinker, rehearsal\n');
  expect(asked.stderr).toMatch(/2 of 2: \w+ [0-9a-f]{8} completed/);

  const { ended } = JSON.parse((await troupe(['list', '--json'])).stdout);
  expect(ended).toMatchObject([{ task: 'say I agree' }, {}]);
});

test('ask takes the question from a pipe and prints one JSON document', async () => {
  const flags = [...both, '--json'];
  const asked = await troupe(['ask', '-', ...flags], { stdin: 'say fine' });
  expect(asked.code).toBe(0);
  const { results, verdicts } = JSON.parse(asked.stdout);
  expect(results).toMatchObject([
    { agent_type: 'thinker', status: 'completed' },
    { agent_type: 'rehearsal', status: 'completed' }
  ]);
  expect(verdicts).toEqual([
    {
      agent_id: results[0].agent_id,
      engine: 'thinker',
      verdict: 'it is safe'
    },
    { agent_id: results[1].agent_id, engine: 'rehearsal', verdict: null }
  ]);
});

test('an engine that fails is named with its reason, and the exit code is 2', async () => {
  const asked = await troupe(['ask', ...both, 'fail auth bad key']);
  expect(asked.code).toBe(2);
  expect(asked.stdout).toContain('VERDICT: it is safe\n\n## rehearsal\n\n');
  expect(asked.stdout).toContain('(failed: bad key [auth])\n');
});

test('those asked may only read', async () => {
  const script = 'write a.txt hi';
  const flags = ['--engines', 'rehearsal'];
  const { stdout } = await troupe(['ask', script, ...flags]);
  expect(stdout).toContain('(refused to write');
});

test('Ctrl-C cancels all of them and exits 130', async () => {
  const command = startCommand(workspace, ['ask', ...both, 'hang']);
  await command.says('stderr', /1 of 2/);
  command.child.kill('SIGINT');
  expect((await command.exited).code).toBe(130);
  const { running, ended } = JSON.parse(
    (await troupe(['list', '--json'])).stdout
  );
  expect(running).toEqual([]);
  const statuses = ended.map(({ status }: { status: string }) => status);
  expect(statuses.sort()).toEqual(['canceled', 'completed']);
});

test.each([
  [
    'an unknown engine',
    ['--engines', 'thinkr', 'hi'],
    'Did you mean "thinker"'
  ],
  ['no question', [...both, '-'], 'There is no prompt.'],
  [
    'a file outside the workspace',
    [...both, 'hi', '--context', '../other.txt'],
    'is not a file inside the workspace'
  ]
])('%s is refused, and nothing starts', async (_, args, words) => {
  const refused = await troupe(['ask', ...args]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(words);
  const { ended } = JSON.parse((await troupe(['list', '--json'])).stdout);
  expect(ended).toEqual([]);
});
