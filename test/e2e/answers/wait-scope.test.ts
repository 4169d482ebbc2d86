import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test
} from 'vitest';
import { startCommand } from '../../kit/servers/command-line.ts';
import { httpClient, startHttp } from '../../kit/servers/http-server.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  servers = [];
});

afterEach(async () => {
  const last = await serve('last');
  const { data } = await last.call('list');
  for (const { id } of [data.running, data.queued].flat() as { id: string }[])
    await last.call('cancel_agent', { agent_id: id });
  for (const server of servers) {
    await server.close();
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
  }
  workspace.remove();
});

async function serve(clientName: string): Promise<McpClient> {
  const flags = ['--engines', 'rehearsal'];
  const server = await startServer(workspace, { clientName, flags });
  servers.push(server);
  return server;
}

interface Client {
  call: McpClient['call'];
}

async function spawned(client: Client, prompt = 'hang'): Promise<string> {
  const { data } = await client.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

/** What a wait that takes no time answers. */
async function look(client: Client, more: Record<string, unknown> = {}) {
  const { data } = await client.call('wait_for_agents', {
    timeout: 0,
    ...more
  });
  return data;
}

/** Answers that name these agents of the client and count all others. */
function waitsFor(still_running: string[], others_running: number) {
  return { status: 'timeout', still_running, others_running };
}

describe('a wait without ids', () => {
  test('covers the agents of its own server and counts the rest', async () => {
    const [one, two] = [await serve('same'), await serve('same')];
    const [mine, theirs] = [await spawned(one), await spawned(two)];
    expect(await look(one)).toMatchObject(waitsFor([mine], 1));
    expect(await look(two)).toMatchObject(waitsFor([theirs], 1));

    await two.call('cancel_agent', { agent_id: theirs });
    const none = await look(two);
    expect(none).toMatchObject({
      status: 'no_agents_running',
      others_running: 1,
      message: expect.stringContaining('scope "workspace"')
    });
    await one.call('cancel_agent', { agent_id: mine });
    expect(await look(two)).toMatchObject({ others_running: 0 });
  });

  test('is for all agents with scope "workspace", and so is one by id', async () => {
    const [one, two] = [await serve('one'), await serve('two')];
    const [mine, theirs] = [await spawned(one), await spawned(two)];
    const all = await look(one, { scope: 'workspace' });
    expect(all.still_running).toEqual([mine, theirs]);
    expect(all).not.toHaveProperty('others_running');
    const named = await look(one, { agent_ids: [theirs] });
    expect(named.still_running).toEqual([theirs]);
    expect(named).not.toHaveProperty('others_running');
  });

  test("ends with its own agents, whatever other clients' agents still do", async () => {
    const [one, two] = [await serve('one'), await serve('two')];
    await spawned(two);
    const quick = await spawned(one, 'sleep 0.2\nsay done');
    const { data } = await one.call('wait_for_agents', { timeout: 40 });
    expect(data).toMatchObject({
      status: 'all_completed',
      others_running: 1,
      results: [{ agent_id: quick, status: 'completed' }]
    });
  });

  test('finds the agents of a server that was killed, for a client of its name', async () => {
    const before = await serve('editor');
    const left = await spawned(before);
    before.child.kill('SIGKILL');
    await before.exited;
    const [again, other] = [await serve('editor'), await serve('another')];
    expect(await look(again)).toMatchObject(waitsFor([left], 0));
    expect(await look(other)).toMatchObject({
      status: 'no_agents_running',
      others_running: 1
    });
  });

  test('leaves to the command line what a person started there', async () => {
    const server = await serve('editor');
    const mine = await spawned(server);
    const run = startCommand(workspace, ['run', 'rehearsal', 'hang']);
    await run.says('stderr', /timeout \d+ s/);
    expect(await look(server)).toMatchObject(waitsFor([mine], 1));

    const wait = startCommand(workspace, ['wait', '--timeout', '1', '--json']);
    const { still_running } = JSON.parse((await wait.exited).stdout);
    expect(still_running).toHaveLength(2);
    run.child.kill('SIGINT');
    await run.exited;
  });
});

describe('sessions of one HTTP server', () => {
  test('wait for their own agents, also under one name', async () => {
    const http = await startHttp(workspace);
    onTestFinished(async () => expect(await http.end()).toBe(0));
    const [one, two] = [await httpClient(http), await httpClient(http)];
    const [mine, theirs] = [await spawned(one), await spawned(two)];
    expect(await look(one)).toMatchObject(waitsFor([mine], 1));
    expect(await look(two)).toMatchObject(waitsFor([theirs], 1));

    await one.leave();
    const again = await httpClient(http);
    expect(await look(again)).toMatchObject(waitsFor([mine], 1));
    const named = await httpClient(http, 'another');
    expect(await look(named)).toMatchObject({ others_running: 2 });
    for (const client of [two, again, named]) await client.leave();
  });
});
