import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { startCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { removeBusy } from '../../kit/workspaces/remove-busy.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let gate: string;
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  gate = join(workspace.home, 'gate');
  addGateAgent(workspace);
  servers = [];
});

afterEach(async () => {
  writeFileSync(gate, '');
  for (const server of servers) {
    expect(await server.close()).toEqual({ code: 0, signal: null });
    expect(server.impurities).toEqual([]);
    expect(server.stderr).not.toMatch(/bug|unexpectedly|^\s+at /m);
  }
  workspace.remove();
});

async function start(): Promise<McpClient> {
  const env = { TROUPE_MAX_CONCURRENT: '2' };
  const server = await startServer(workspace, { env });
  servers.push(server);
  return server;
}

async function spawned(server: McpClient): Promise<string> {
  const { data } = await server.call('spawn_gate', { prompt: gate });
  const id = String(data.agent_id);
  if (data.status === 'running') await saidAnswer(workspace, id);
  return id;
}

const remove = (path: string) => removeBusy(path);

describe('the record is removed under a live server:', () => {
  test('its agents are ended and named, and a wait calls them lost', async () => {
    const server = await start();
    const ids = [
      await spawned(server),
      await spawned(server),
      await spawned(server)
    ];
    const other = await start();
    const waits = [server, other].map((one) =>
      one.call('wait_for_agents', { agent_ids: ids })
    );
    const [{ data: before }] = await Promise.all([
      server.call('list'),
      other.call('list')
    ]);
    expect(before.running).toHaveLength(2);
    expect(before.queued).toHaveLength(1);
    remove(workspace.record);
    for (const { data, text } of await Promise.all(waits)) {
      expect(data).toMatchObject({
        status: 'agents_lost',
        completed_results: []
      });
      expect(data.lost).toMatchObject(ids.map((agent_id) => ({ agent_id })));
      expect(text).toContain('was removed before it had ended');
    }
    expect(agentsAlive(workspace)).toEqual([]);
    const told =
      server.stderr.match(/Folders of agents at work were removed/g) ?? [];
    expect(told).toHaveLength(1);
    for (const id of ids) expect(server.stderr).toContain(`${id} (Gate)`);

    const [first] = ids;
    const again = await server.call('wait_for_agents', { agent_ids: ids });
    expect(again.data.status).toBe('agents_lost');
    const result = await server.call('result', { agent_id: first });
    expect(result.data.status).toBe('not_found');
    const canceled = await server.call('cancel_agent', { agent_id: first });
    expect(canceled.data.error_code).toBe('unknown_agent');
    for (const { text } of [result, canceled])
      expect(text).toContain('was ended by its server');

    const facts = join(workspace.record, 'workspace.json');
    writeFileSync(gate, '');
    const next = await spawned(server);
    expect(existsSync(facts)).toBe(true);
    const waited = await server.call('wait_for_agents', { agent_ids: [next] });
    expect(waited.data).toMatchObject({
      status: 'all_completed',
      results: [{ status: 'completed', result: 'answer' }]
    });
    await other.close();
    const third = await start();
    await third.call('result', { agent_id: next });
    const log = join(workspace.path, 'logs', 'IAC.md');
    await until('the log', () => readIfExists(log)?.includes(next));
  });

  test('troupe run says what became of its agent', async () => {
    const run = startCommand(workspace, ['run', 'gate', gate]);
    const [id] = await until('the agent', () => {
      const alive = agentsAlive(workspace);
      return alive.length > 0 ? alive : undefined;
    });
    await saidAnswer(workspace, id ?? '');
    remove(workspace.record);
    const { code, stderr } = await run.exited;
    expect(code).toBe(1);
    expect(stderr).toContain(`Agent ${id} (Gate) was ended by its server`);
    expect(agentsAlive(workspace)).toEqual([]);
  });
});

test('what the agent left in its session ends with it', async () => {
  workspace.write(
    'shell.mjs',
    `export default { kind: 'cli', name: 'shell', description: 'A shell.',
      command: '/bin/sh', args: () => ['-s'] };`
  );
  workspace.write('troupe.config.json', '{"plugins": ["./shell.mjs"]}');
  const server = await start();
  const file = join(workspace.home, 'pid');
  // Its parent is gone, and nothing in its environment says whose it is.
  const prompt = `(env -i sleep 1000 & echo $! >"${file}"); sleep 1000`;
  const { data } = await server.call('spawn_shell', { prompt });
  const pid = await until('the process', () => {
    const text = readIfExists(file) ?? '';
    return text.endsWith('\n') ? Number(text) : undefined;
  });
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  remove(join(workspace.record, 'spawns', String(data.agent_id)));
  await until('its end', () => !existsSync(`/proc/${pid}`));
  await until('all of it', () => agentsAlive(workspace).length === 0);
});

test('a client that leaves right after it leaves no agent', async () => {
  const server = await start();
  await spawned(server);
  remove(workspace.record);
  await server.close();
  expect(agentsAlive(workspace)).toEqual([]);
});

test('of one agent whose folder is removed the log has the end', async () => {
  const server = await start();
  const [lost, stays] = [await spawned(server), await spawned(server)];
  const waiting = server.call('wait_for_agents', { agent_ids: [lost, stays] });
  remove(join(workspace.record, 'spawns', lost));
  await until('its end', () => !agentsAlive(workspace).includes(lost));
  await until('the sentence', () =>
    server.stderr.includes('Folders of agents')
  );
  writeFileSync(gate, '');
  const { data } = await waiting;
  expect(data).toMatchObject({
    status: 'agents_lost',
    lost: [{ agent_id: lost }],
    completed_results: [{ agent_id: stays, status: 'completed' }]
  });
  const journal = readFileSync(workspace.paths.journal, 'utf8');
  expect(journal).toMatch(
    new RegExp(`"finished","agent_id":"${lost}","status":"interrupted"`)
  );
  expect(existsSync(join(workspace.record, 'open', lost))).toBe(false);
});

test('a wait that gives up while an agent is being ended calls it lost', async () => {
  const server = await start();
  const id = await spawned(server);
  remove(workspace.record);
  const { data } = await server.call('wait_for_agents', {
    agent_ids: [id],
    timeout: 0.05
  });
  expect(data).toMatchObject({
    status: 'agents_lost',
    lost: [{ agent_id: id }],
    completed_results: []
  });
});

test.each([
  ['list', {}, { running: [], queued: [] }],
  ['wait_for_agents', {}, { status: 'no_agents_running' }]
])(
  '%s says that nothing runs only once nothing does',
  async (name, input, expected) => {
    const server = await start();
    await spawned(server);
    remove(workspace.record);
    const { data } = await server.call(name, input);
    expect(data).toMatchObject(expected);
    expect(agentsAlive(workspace)).toEqual([]);
  }
);

test('result and cancel_agent say what became of an agent at once', async () => {
  const server = await start();
  const [first, second] = [await spawned(server), await spawned(server)];
  remove(workspace.record);
  const [result, canceled] = await Promise.all([
    server.call('result', { agent_id: first }),
    server.call('cancel_agent', { agent_id: second })
  ]);
  expect(result.data.status).toBe('not_found');
  expect(canceled.data.error_code).toBe('unknown_agent');
  for (const { text } of [result, canceled])
    expect(text).toContain('was ended by its server');
});

test('troupe wait calls an agent lost whose folder goes meanwhile', async () => {
  const server = await start();
  const id = await spawned(server);
  const wait = startCommand(workspace, [
    ...['wait', id, '--timeout', '2', '--json']
  ]);
  await wait.says('stderr', /waiting for/);
  remove(join(workspace.record, 'spawns', id));
  const { code, stdout } = await wait.exited;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'agents_lost',
    lost: [{ agent_id: id }]
  });
});
