import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type CommandOptions,
  runCommand,
  startCommand
} from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write(
    'big.mjs',
    `export default {
      kind: 'cli', name: 'big', description: 'Prints its prompt many times.',
      command: process.execPath,
      args: () => ['-e', 'process.stdout.write("x\\\\u00e9\\\\n".repeat(400000))']
    };`
  );
  workspace.write(
    'troupe.config.json',
    JSON.stringify({ plugins: ['./big.mjs'], engines: { rehearsal: true } })
  );
  // Some tests leave an agent at work; closing ends it.
  const flags = ['--on-disconnect', 'stop'];
  server = await startServer(workspace, { flags });
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

const troupe = (args: string[], options?: CommandOptions) =>
  runCommand(workspace, args, options);

/** An agent that another process, the server, has. */
async function spawn(prompt: string, engine = 'rehearsal'): Promise<string> {
  const { data } = await server.call(`spawn_${engine}`, { prompt });
  return String(data.agent_id);
}

test('result prints the whole text, however long, and from an offset on', async () => {
  const id = await spawn('x', 'big');
  expect((await troupe(['wait', id])).code).toBe(0);
  const whole = 'xé\n'.repeat(400_000);
  const { code, stdout, stderr } = await troupe(['result', id]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // A plain engine's short answers are trimmed; one of this size is not.
  expect(stdout === whole).toBe(true);
  const end = await troupe(['result', id, '--offset', '1199996']);
  expect(end.stdout).toBe('é\nxé\n'.slice(-4));
});

test('result --json is what the MCP tool answers', async () => {
  const done = await spawn('say hi');
  await troupe(['wait', done]);
  const failed = await spawn('fail network cut off');
  await troupe(['wait', failed]);
  for (const [id, exit] of [
    [done, 0],
    [failed, 2]
  ] as const) {
    const { data } = await server.call('result', { agent_id: id });
    const { code, stdout } = await troupe(['result', id, '--json']);
    expect(code).toBe(exit);
    expect(JSON.parse(stdout)).toEqual(data);
  }
});

test('result of an agent that still runs says so and exits 3', async () => {
  const id = await spawn('hang');
  await until('its words', async () => {
    const { data } = await server.call('result', { agent_id: id });
    return data.progress;
  });
  const { code, stdout, stderr } = await troupe(['result', id]);
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toBe(
    `troupe: Rehearsal ${id} is running.\ntroupe: last seen: hang\n`
  );
  const json = await troupe(['result', id, '--json']);
  expect(json.code).toBe(3);
  expect(JSON.parse(json.stdout)).toMatchObject({
    agent_id: id,
    status: 'running'
  });
});

test.each(['result', 'wait', 'cancel'])(
  '%s of an unknown id exits 1',
  async (command) => {
    const { code, stdout, stderr } = await troupe([command, '0badc0de']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^troupe: There is no agent "0badc0de"[^\n]+\n$/);
  }
);

test('result --json of an unknown id is "not_found", as over MCP', async () => {
  const { code, stdout } = await troupe(['result', '0badc0de', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    agent_id: '0badc0de',
    status: 'not_found'
  });
});

test('wait follows agents of a server to their end; one failed: exit 2', async () => {
  const good = await spawn('sleep 1\nsay fine');
  const bad = await spawn('fail network cut off');
  const waited = await troupe(['wait', good, bad, '--json']);
  const { code, stdout, stderr } = waited;
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'all_completed',
    elapsed_seconds: expect.any(Number),
    results: expect.arrayContaining([
      expect.objectContaining({ agent_id: good, status: 'completed' })
    ]),
    still_running: []
  });
  expect(stderr).toContain(`Rehearsal ${good} completed`);
  const table = await troupe(['wait', good, bad]);
  expect(table.code).toBe(2);
  expect(table.stdout).toMatch(new RegExp(`${good} +rehearsal +completed`));
  expect(table.stdout).toMatch(new RegExp(`${bad} +rehearsal +failed`));
});

test('wait --any ends with the first, wait --timeout gives up with exit 3', async () => {
  const quick = await spawn('say quick');
  const slow = await spawn('hang');
  const any = await troupe(['wait', '--any', quick, slow, '--json']);
  expect(any.code).toBe(0);
  expect(JSON.parse(any.stdout)).toMatchObject({
    status: 'any_completed',
    results: [{ agent_id: quick }],
    still_running: [slow]
  });
  const late = await troupe(['wait', '--timeout', '0.2', '--json']);
  expect(late.code).toBe(3);
  expect(JSON.parse(late.stdout)).toMatchObject({
    status: 'timeout',
    results: [],
    still_running: [slow]
  });
});

test('Ctrl-C ends the wait, not the agents', async () => {
  const id = await spawn('hang');
  const command = startCommand(workspace, ['wait', id]);
  await command.says('stderr', /waiting for 1 agent/);
  command.child.kill('SIGINT');
  expect(await command.exited).toMatchObject({ code: 130, stdout: '' });
  const { stdout } = await troupe(['result', id, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'running' });
});

test('wait with nothing to wait for is done at once', async () => {
  const { code, stdout } = await troupe(['wait', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    status: 'no_agents_running',
    elapsed_seconds: 0,
    results: [],
    still_running: []
  });
});

test('cancel ends an agent of another process, once, with its reason', async () => {
  const id = await spawn('hang');
  const first = await troupe(['cancel', id, '--reason', 'wrong branch']);
  expect(first).toEqual({
    code: 0,
    stdout: `${id} It is canceled.\n`,
    stderr: ''
  });
  const again = await troupe(['cancel', id, '--json']);
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({
    agent_id: id,
    status: 'canceled',
    message: expect.stringContaining('ended before')
  });
  const { code, stderr } = await troupe(['result', id]);
  expect(code).toBe(2);
  expect(stderr).toContain('wrong branch');
});

test('a reader that leaves early is no error', async () => {
  const id = await spawn('x', 'big');
  await troupe(['wait', id]);
  const command = startCommand(workspace, ['result', id]);
  await command.says('stdout', /x/);
  command.child.stdout?.destroy();
  const { code, stderr } = await command.exited;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
