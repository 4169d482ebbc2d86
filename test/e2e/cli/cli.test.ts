import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
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
});

afterEach(() => workspace.remove());

const troupe = (args: string[], options?: CommandOptions) =>
  runCommand(workspace, args, options);

const listed = async () =>
  JSON.parse((await troupe(['list', '--json'])).stdout);

const iac = () => readFileSync(join(workspace.path, 'logs/IAC.md'), 'utf8');

test('run puts the answer on stdout, progress on stderr, and exits 0', async () => {
  const script = 'progress reading the tests\nsleep 1\nsay all good';
  const { code, stdout, stderr } = await troupe(['run', 'rehearsal', script]);
  expect(code).toBe(0);
  expect(stdout).toBe('Rehearsal, no model was asked.\nall good\n');
  expect(stderr).toMatch(
    /troupe: Rehearsal \(script\) [0-9a-f]{8}, access full/
  );
  expect(stderr).toContain('sleep 1');
  expect(stderr).toMatch(/troupe: Rehearsal [0-9a-f]{8} completed \(\d/);
  expect(`${stdout}${stderr}`).not.toContain('\u001b');
  expect(iac()).toContain('✅ **Done**');
});

test.each([
  ['of which the argument is -', ['run', 'rehearsal', '-']],
  ['without any argument', ['run', 'rehearsal']]
])('run %s takes the prompt from stdin', async (_, args) => {
  const { code, stdout } = await troupe(args, { stdin: 'say piped in' });
  expect(code).toBe(0);
  expect(stdout).toContain('piped in');
});

test('run passes its flags on to the agent', async () => {
  workspace.write('sub/keep.txt', '');
  const flags = '--access read --cwd sub --timeout 77 --model m1'.split(' ');
  const { stdout, stderr } = await troupe([
    'run',
    'rehearsal',
    'write a.txt hi',
    ...flags,
    '--system-prompt',
    'say from the system prompt',
    '--json'
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    agent_type: 'rehearsal',
    model: 'm1',
    success: true,
    status: 'completed',
    result: expect.stringMatching(/from the system prompt\n\(refused to write/)
  });
  expect(stderr).toContain('access read (enforced), timeout 77 s');
  const [id = ''] = readdirSync(join(workspace.record, 'spawns'));
  const record = join(workspace.record, 'spawns', id, 'record.json');
  expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({
    cwd: join(workspace.path, 'sub')
  });
});

test.each([
  ['--access', 'read'],
  ['--cwd', '.']
])('run refuses %s for an API, which works on no files', async (...flag) => {
  const env = { XAI_API_KEY: 'a-key-for-this-test' };
  const refused = await troupe(['run', 'grok', 'hi', ...flag], { env });
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(`${flag[0]} has no effect. Leave it`);
  expect((await listed()).ended).toEqual([]);
});

test('a failed agent, one out of time and one not installed give exit code 2', async () => {
  const failed = await troupe(['run', 'rehearsal', 'fail auth bad key']);
  expect(failed).toMatchObject({ code: 2, stdout: '' });
  expect(failed.stderr).toMatch(/failed \(.*\): bad key \[auth\]\n$/);

  const late = await troupe(['run', 'rehearsal', 'hang', '--timeout', '1']);
  expect(late.code).toBe(2);
  expect(late.stderr).toContain('timeout');

  const env = { PATH: workspace.bin };
  const missing = await troupe(['run', 'claude', 'hi'], { env });
  expect(missing).toMatchObject({ code: 2, stdout: '' });
  expect(missing.stderr).toContain('npm install -g @anthropic-ai/claude-code');
  const { ended } = await listed();
  expect(ended.map((row: { status: string }) => row.status)).toEqual([
    'failed',
    'timeout',
    'failed'
  ]);
});

test('Ctrl-C ends the agent and exits 130', async () => {
  const command = startCommand(workspace, ['run', 'rehearsal', 'hang']);
  await command.says('stderr', /hang/);
  const { running } = await listed();
  expect(running).toMatchObject([{ status: 'running', task: 'hang' }]);
  command.child.kill('SIGINT');
  const { code, stdout, stderr } = await command.exited;
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
  expect(stderr).toContain('canceled');
  expect(await listed()).toMatchObject({
    running: [],
    ended: [{ agent_id: running[0].agent_id, status: 'canceled' }]
  });
  expect(iac()).toContain('**Canceled**');
});

test('a second Ctrl-C does not wait for the end of the agent, which comes', async () => {
  const script = 'ignore-term\nhang';
  const command = startCommand(workspace, ['run', 'rehearsal', script]);
  await command.says('stderr', /hang/);
  const [{ agent_id: id }] = (await listed()).running;
  const directory = join(workspace.record, 'spawns', id);
  command.child.kill('SIGINT');
  await until('the stop', () =>
    readFileSync(join(directory, 'events.jsonl'), 'utf8').includes('"stop"')
  );
  command.child.kill('SIGINT');
  expect(await command.exited).toMatchObject({ code: 130 });
  expect(await listed()).toMatchObject({ running: [{ agent_id: id }] });
  await until('the agent ends', () =>
    /\d/.test(readFileSync(join(directory, 'exit'), 'utf8'))
  );
  expect(await listed()).toMatchObject({
    running: [],
    ended: [{ agent_id: id, status: 'canceled' }]
  });
});

test('any command records the ends that happened while no server ran', async () => {
  const script = 'sleep 1\nsay late words';
  const command = startCommand(workspace, ['run', 'rehearsal', script]);
  await command.says('stderr', /sleep 1/);
  command.child.kill('SIGKILL');
  await command.exited;
  const [id = ''] = readdirSync(join(workspace.record, 'spawns'));
  const exit = join(workspace.record, 'spawns', id, 'exit');
  await until('the agent ends', () => /\d/.test(readFileSync(exit, 'utf8')));
  expect(iac()).toContain('**Running**');
  await troupe(['engines']);
  expect(iac()).toContain('✅ **Done**');
  expect(iac()).not.toContain('**Running**');
  const { code, stdout } = await troupe(['result', id]);
  expect(code).toBe(0);
  expect(stdout).toContain('late words');
});

test.each([
  ['an empty prompt', ['run', 'rehearsal', ' '], 'no prompt. Give it in'],
  ['nothing on stdin', ['run', 'rehearsal'], 'no prompt. Give it in quotes'],
  ['an unknown engine', ['run', 'nobody', 'hi'], 'no engine "nobody"'],
  ['an unknown access', ['run', 'rehearsal', 'x', '--access', 'all'], 'read'],
  ['a timeout of 0', ['run', 'rehearsal', 'x', '--timeout', '0'], 'seconds'],
  ['a cwd outside', ['run', 'rehearsal', 'x', '--cwd', '..'], 'outside'],
  ['a limit in words', ['list', '--limit', 'ten'], 'whole number'],
  ['a missing workspace', ['list', '--workspace', 'nowhere'], 'not exist'],
  ['a missing config', ['list', '--config', 'no.json'], 'cannot be read']
])('%s is refused in one line, exit code 1', async (_, args, words) => {
  const { code, stdout, stderr } = await troupe(args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^troupe: [^\n]+\n$/);
  expect(stderr).toContain(words);
  expect(existsSync(workspace.record)).toBe(false);
});

test('looking at an empty directory leaves nothing in it', async () => {
  for (const args of [
    ['list'],
    ['list', '--json'],
    ['log', '--verify'],
    ['wait'],
    ['engines'],
    ['doctor']
  ])
    expect((await troupe(args)).code).toBe(0);
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('list is an aligned table, plain in a pipe, coloured where asked', async () => {
  await troupe(['run', 'rehearsal', 'say one \u001b[31mred']);
  await troupe(['run', 'rehearsal', 'fail auth no']);
  const { stdout } = await troupe(['list']);
  const [heading = '', ...rows] = stdout.trimEnd().split('\n');
  expect(heading).toMatch(/^ID +ENGINE +STATUS +TIME +COST +ENDED +TASK$/);
  expect(rows).toHaveLength(2);
  for (const row of rows) {
    expect(row.search(/\d{4}-\d\d-\d\dT/)).toBe(heading.indexOf('ENDED'));
    expect(row.indexOf('rehearsal')).toBe(heading.indexOf('ENGINE'));
  }
  expect(stdout).not.toContain('\u001b');

  const colored = await troupe(['list'], { env: { FORCE_COLOR: '1' } });
  expect(colored.stdout).toMatch(/\u001b\[31mfailed/);
  expect(colored.stdout).toMatch(/\u001b\[32mcompleted/);
  const env = { FORCE_COLOR: '1', NO_COLOR: '1' };
  expect((await troupe(['list'], { env })).stdout).not.toContain('\u001b');
  expect((await troupe(['list'], { env: { CI: '1' } })).stdout).toBe(
    (await troupe(['list'])).stdout
  );
});

test('list --limit bounds the ended ones, newest first', async () => {
  for (const word of ['one', 'two', 'three'])
    await troupe(['run', 'rehearsal', `say ${word}`]);
  const two = await troupe(['list', '--limit', '2', '--json']);
  expect(JSON.parse(two.stdout)).toEqual({
    running: [],
    queued: [],
    ended: ['three', 'two'].map((word) => ({
      agent_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      agent_type: 'rehearsal',
      model: 'script',
      status: 'completed',
      task: `say ${word}`,
      created_at: expect.any(String),
      completed_at: expect.any(String),
      seconds: expect.any(Number),
      cost_usd: 0,
      error: null,
      error_code: null
    })),
    workers: [],
    faults: []
  });
  const none = await troupe(['list', '--limit', '0', '--json']);
  expect(JSON.parse(none.stdout)).toMatchObject({ ended: [] });
});
