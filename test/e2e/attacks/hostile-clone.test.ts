import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { printOf, printOfHome } from '../../kit/workspaces/tree.ts';

/**
 * What a project may bring along in our places: links to the user's own
 * directories.
 */
const places: [place: string, target: string][] = [
  ['.agents', '.ssh'],
  ['.agents', 'missing'],
  ['.agents/agents', '.ssh'],
  ['.agents/run', '.ssh'],
  ['.agents/worktrees', '.ssh'],
  ['.agents/council', '.ssh'],
  ['logs', '.ssh'],
  ['logs', 'missing'],
  ['logs/archive', '.ssh'],
  ['logs/agents', '.ssh']
];

/** One of each kind that writes, and some that only look. */
const calls: [tool: string, args: Record<string, unknown>][] = [
  ['spawn_rehearsal', { prompt: 'say x' }],
  ['start_squad_members', { members: [{ roleId: 'debugger', task: 'x' }] }],
  ['start_council', { request: 'x', agent_name: 'a' }],
  ['agent_create', { name: 'a', role: 'b' }],
  ['cancel_agent', { agent_id: '00000000' }],
  ['result', { agent_id: '00000000' }],
  ['list', {}],
  ['agent_list', {}],
  ['list_roles', {}]
];

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  const own = join(workspace.home, '.ssh');
  mkdirSync(own, { mode: 0o700 });
  writeFileSync(join(own, 'id_ed25519'), 'not yours\n', { mode: 0o600 });
  writeFileSync(join(workspace.home, '.bashrc'), 'true\n');
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
      engines: { rehearsal: {} },
      squad: { engine: 'rehearsal' },
      council: { scope: 'project' },
      orchestrator: { backend: 'process', engine: 'rehearsal' }
    })
  );
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  workspace.remove();
});

function plant(place: string, target: string): string {
  const path = join(workspace.path, place);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(workspace.home, target), path);
  return path;
}

describe('in a project with a link in the place of what is ours', () => {
  test.each(places)(
    '%s -> ~/%s: every tool says so and writes nothing',
    async (place, target) => {
      const path = plant(place, target);
      const before = [printOf(workspace.path), printOfHome(workspace)];
      server = await startServer(workspace);
      for (const [tool, args] of calls) {
        const { data, isError } = await server.call(tool, args);
        const told = { tool, isError, code: data.error_code };
        expect(told).toEqual({ tool, isError: true, code: 'state_unsafe' });
        expect(data.error).toContain(`${path} is a symbolic link`);
        expect(data.hint).toContain(`unlink ${path}`);
      }
      await expect(server.request('resources/list')).rejects.toThrow(path);
      expect([printOf(workspace.path), printOfHome(workspace)]).toEqual(before);
      // Which record it is, and that a server is there.
      const made = readdirSync(workspace.record).sort();
      expect(made).toEqual(['servers', 'workspace.json']);

      // Once it is gone, the same server works.
      rmSync(path);
      const { data } = await server.call('spawn_rehearsal', {
        prompt: 'say x'
      });
      const agent_ids = [data.agent_id];
      const ended = await server.call('wait_for_agents', { agent_ids });
      expect(ended.data.status).toBe('all_completed');
      await server.close();
      // It is reported once, not at every read.
      expect(server.stderr.split(path)).toHaveLength(2 + 1);
      expect(server.impurities).toEqual([]);
      expect(printOfHome(workspace)).toEqual(before[1]);
    }
  );

  test('every command ends with 1, and doctor says what to do', async () => {
    const path = plant('.agents', '.ssh');
    const before = [printOf(workspace.path), printOf(workspace.home)];
    for (const args of [
      ['run', 'rehearsal', 'say x'],
      ['list'],
      ['log'],
      ['log', '--verify'],
      ['result', '00000000'],
      ['wait', '00000000'],
      ['cancel', '00000000'],
      ['roles'],
      ['engines']
    ]) {
      const { code, stderr, stdout } = await runCommand(workspace, args);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(stderr).toContain(`${path} is a symbolic link`);
    }
    const { code, stdout } = await runCommand(workspace, ['doctor', '--json']);
    const told = JSON.parse(stdout);
    expect({ code, ok: told.ok }).toEqual({ code: 1, ok: false });
    expect(told.unsafe).toContain(path);
    expect(told.next[0]).toContain(`unlink ${path}`);
    expect([printOf(workspace.path), printOf(workspace.home)]).toEqual(before);
  });

  test('the server of a worker does not begin', async () => {
    const path = plant('.agents/agents', '.ssh');
    const flags = ['--toolsets', 'worker', '--agent-id', '00000000'];
    server = await startServer(workspace, { flags, raw: true });
    expect(await server.exited).toMatchObject({ code: 1 });
    expect(server.stderr).toContain(path);
  });
});

test('views that are links are put aside, and nothing is written through them', async () => {
  plant('logs/IAC.md', '.bashrc');
  plant('logs/CONTEXT.md', 'missing');
  const before = printOfHome(workspace);
  server = await startServer(workspace);
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  const view = (name: string) => join(workspace.path, 'logs', name);
  for (const name of ['IAC.md', 'CONTEXT.md'])
    await until(`${name} as a file`, () =>
      lstatSync(view(name), { throwIfNoEntry: false })?.isFile()
    );
  const links = ['IAC', 'CONTEXT'].map((stem) => `${stem}.before-troupe.md`);
  for (const name of links)
    expect(lstatSync(view(name)).isSymbolicLink()).toBe(true);
  expect(printOfHome(workspace)).toEqual(before);
});

test('a world-writable directory is refused until its mode is repaired', async () => {
  const logs = join(workspace.path, 'logs');
  mkdirSync(logs);
  chmodSync(logs, 0o777);
  server = await startServer(workspace);
  const refused = await server.call('spawn_rehearsal', { prompt: 'say x' });
  expect(refused.data).toMatchObject({
    error_code: 'state_unsafe',
    error: `${logs} can be changed by every user of this machine.`,
    hint: expect.stringContaining(`chmod o-w ${logs}`)
  });
  expect(readdirSync(logs)).toEqual([]);
  chmodSync(logs, 0o775);
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
  expect(data.status).toBe('running');
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
});

test('a council that is a link is refused, and all else works', async () => {
  const path = join(workspace.home, '.agents-council');
  symlinkSync(join(workspace.home, '.ssh'), path);
  const before = printOfHome(workspace);
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": {}}}');
  server = await startServer(workspace);
  const asked = { request: 'x', agent_name: 'a' };
  const { data } = await server.call('start_council', asked);
  expect(data.error).toContain(`${path} is a symbolic link`);
  const spawned = await server.call('spawn_rehearsal', { prompt: 'say x' });
  expect(spawned.data.status).toBe('running');
  await server.call('wait_for_agents', {
    agent_ids: [spawned.data.agent_id]
  });
  expect(printOfHome(workspace)).toEqual(before);
});

test('a link on the way to the workspace is the way the user chose', async () => {
  const link = join(workspace.home, 'project');
  symlinkSync(workspace.path, link);
  server = await startServer({ ...workspace, path: link });
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
  expect(data.status).toBe('running');
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  expect(existsSync(join(workspace.record, 'iac.jsonl'))).toBe(true);
});
