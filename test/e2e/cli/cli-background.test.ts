import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type CommandOptions,
  runCommand,
  startCommand
} from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import { createApiWorkspace } from '../../kit/workspaces/api-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { says } from '../../provider-fake/answers.ts';

const program = join(import.meta.dirname, '../../../dist/troupe.cjs');

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  const settings = { engines: { rehearsal: true }, onDisconnect: 'stop' };
  workspace.write('.trouperc.json', JSON.stringify(settings));
});

afterEach(() => workspace.remove());

const troupe = (args: string[], options?: CommandOptions) =>
  runCommand(workspace, args, options);

const documentOf = async (...args: string[]) =>
  JSON.parse((await troupe([...args, '--json'])).stdout);

test.each(['-b', '--background'])(
  'run %s prints the id alone and returns while the agent works',
  async (flag) => {
    const script = 'sleep 1\nsay done at last';
    const started = await troupe(['run', 'rehearsal', script, flag]);
    expect(started.code).toBe(0);
    expect(started.stdout).toMatch(/^[0-9a-f]{8}\n$/);
    const id = started.stdout.trim();
    expect(started.stderr).toContain(`troupe wait ${id}`);

    const listed = await documentOf('list');
    expect([...listed.running, ...listed.ended]).toMatchObject([
      { agent_id: id, task: 'sleep 1' }
    ]);
    expect((await troupe(['wait', id])).code).toBe(0);
    const { stdout } = await troupe(['result', id]);
    expect(stdout).toContain('done at last\n');
  }
);

test('the id goes through a pipe of a shell, which does not wait for the agent', async () => {
  const script = `id=$(node ${program} run rehearsal hang -b) && echo "<$id>" &&
    node ${program} cancel "$id" --json`;
  const out = execFileSync('/bin/sh', ['-c', script], {
    cwd: workspace.path,
    env: testEnvironment(workspace),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe']
  });
  expect(out).toMatch(/^<[0-9a-f]{8}>\n/);
  expect(out).toContain('"status": "canceled"');
});

test('its time limit holds though no other process of troupe is there', async () => {
  const flags = ['--timeout', '1', '-b', '--json'];
  const { stdout } = await troupe(['run', 'rehearsal', 'hang', ...flags]);
  const started = JSON.parse(stdout);
  expect(started).toEqual({
    agent_id: expect.stringMatching(/^[0-9a-f]{8}$/),
    agent_type: 'rehearsal',
    model: 'script',
    status: 'running'
  });
  const { code, stderr } = await troupe(['wait', started.agent_id]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('timeout')
  });
});

test('one that cannot start has its id printed and gives exit code 2', async () => {
  const env = { PATH: workspace.bin };
  const missing = await troupe(['run', 'claude', 'hi', '-b'], { env });
  expect(missing).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^[0-9a-f]{8}\n$/),
    stderr: expect.stringContaining('[not_installed]')
  });
});

test('a queued one is waited for, because no server would start it', async () => {
  const settings = { engines: { rehearsal: true }, maxConcurrent: 1 };
  workspace.write('.trouperc.json', JSON.stringify(settings));
  const first = await troupe(['run', 'rehearsal', 'hang', '-b']);
  const second = startCommand(workspace, ['run', 'rehearsal', 'say hi', '-b']);
  await second.says('stderr', /waiting for a free slot/);
  await troupe(['cancel', first.stdout.trim()]);
  const { code, stdout } = await second.exited;
  expect(code).toBe(0);
  expect((await troupe(['wait', stdout.trim()])).code).toBe(0);
});

test('Ctrl-C ends a queued one', async () => {
  const settings = { engines: { rehearsal: true }, maxConcurrent: 1 };
  workspace.write('.trouperc.json', JSON.stringify(settings));
  const first = await troupe(['run', 'rehearsal', 'hang', '-b']);
  const second = startCommand(workspace, ['run', 'rehearsal', 'say hi', '-b']);
  await second.says('stderr', /waiting for a free slot/);
  second.child.kill('SIGINT');
  const { code, stdout } = await second.exited;
  expect(code).toBe(130);
  const { status } = await documentOf('result', stdout.trim());
  expect(status).toBe('canceled');
  await troupe(['cancel', first.stdout.trim()]);
});

test('an API goes on without the command, too', async () => {
  const apis = await createApiWorkspace();
  apis.configure({});
  apis.keys({ XAI_API_KEY: apis.fakes.grok.key });
  apis.fakes.grok.plan('hello', says('from the provider'));
  const started = await runCommand(apis, ['run', 'grok', 'hello', '-b']);
  const id = started.stdout.trim();
  expect(id).toMatch(/^[0-9a-f]{8}$/);
  await runCommand(apis, ['wait', id]);
  const { stdout } = await runCommand(apis, ['result', id]);
  expect(stdout).toBe('from the provider\n');
  await apis.close();
});

test('continue goes on in the session, with the directory and access of before', async () => {
  workspace.write('sub/keep.txt', '');
  const flags = '--access read --cwd sub --json'.split(' ');
  const first = await troupe(['run', 'rehearsal', 'say one', ...flags]);
  const { agent_id: id } = JSON.parse(first.stdout);
  const script = 'say two\nwrite a.txt hi';
  const next = await troupe(['continue', id.slice(0, 6), script]);
  expect(next.code).toBe(0);
  expect(next.stdout).toContain('two\n(refused to write');
  expect(next.stdout).toMatch(/turn 2/);
  expect(next.stderr).toContain('access read (enforced)');
  const [, last = ''] = / ([0-9a-f]{8}) completed/.exec(next.stderr) ?? [];
  const record = join(workspace.record, 'spawns', last, 'record.json');
  expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({
    cwd: join(workspace.path, 'sub')
  });
});

test('continue takes the prompt from a pipe, and -b and --timeout as run does', async () => {
  // The agent's engine is off by default.
  workspace.write('.trouperc.json', '{}');
  const first = await troupe(['run', 'rehearsal', 'say one', '-b']);
  const id = first.stdout.trim();
  await troupe(['wait', id]);
  const piped = await troupe(['continue', id, '-'], { stdin: 'say piped in' });
  expect(piped.stdout).toContain('piped in\n');
  const args = ['continue', id, 'hang', '--timeout', '1', '-b'];
  const behind = await troupe(args);
  expect(behind.stdout).toMatch(/^[0-9a-f]{8}\n$/);
  const { status } = await documentOf('wait', behind.stdout.trim());
  expect(status).toBe('all_completed');
  const { error_code } = await documentOf('result', behind.stdout.trim());
  expect(error_code).toBe('timeout');
});

test('continue says what is wrong with an id', async () => {
  const unknown = await troupe(['continue', '12345678', 'hi']);
  expect(unknown).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('There is no agent "12345678"')
  });
  const env = { PATH: workspace.bin };
  const failed = await troupe(['run', 'claude', 'hi', '-b'], { env });
  const id = failed.stdout.trim();
  const without = await troupe(['continue', id, 'hi', '--json']);
  expect(without.code).toBe(1);
  expect(JSON.parse(without.stdout).error.code).toBe('no_session');
});

test('an agent that works still is not continued', async () => {
  const first = await troupe(['run', 'rehearsal', 'hang', '-b']);
  const id = first.stdout.trim();
  const busy = await troupe(['continue', id, 'say hi']);
  expect(busy.code).toBe(2);
  expect(busy.stderr).toContain('[session_busy]');
  await troupe(['cancel', id]);
});
