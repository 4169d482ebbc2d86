import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addGateAgent } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type StartedHttp, startHttp } from '../../kit/servers/http-server.ts';
import {
  factsIn,
  message,
  type RawClient,
  rawClient,
  waitCall
} from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: StartedHttp;

beforeEach(async () => {
  workspace = createTempWorkspace();
  addGateAgent(workspace);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      plugins: ['./gate.mjs'],
      engines: { rehearsal: true },
      squad: { engine: 'rehearsal' }
    })
  );
  const flags = ['--toolsets', 'all', '--engines', 'rehearsal,gate'];
  server = await startHttp(workspace, { flags });
});

afterEach(async () => {
  expect(await server.end()).toBe(0);
  expect(server.command.stderr).not.toMatch(/bug|failed/);
  workspace.remove();
});

describe('words of the council', () => {
  const alice = { agent_name: 'alice' };
  const bob = { agent_name: 'bob' };
  let one: RawClient;
  let two: RawClient;

  beforeEach(async () => {
    [one, two] = await Promise.all([rawClient(server), rawClient(server)]);
    await one.call('start_council', { ...alice, request: 'Which?' });
  });

  const send = async (content: string) =>
    String((await two.call('send_response', { ...bob, content })).response_id);

  /** Long enough for any wait to have seen what there was. */
  const pass = (cursor: string) =>
    two.call('wait_for_responses', { ...bob, cursor, timeout: 0.3 });

  const heard = async (args: Record<string, unknown> = {}) => {
    const view = await one.call('wait_for_responses', { ...alice, ...args });
    const responses = view.responses as { content: string }[];
    return responses.map(({ content }) => content);
  };

  test('that come after the connection of a wait was cut are delivered by the next wait', async () => {
    const wait = await one.wait('wait_for_responses', alice, 'cut');
    await wait.cut();
    await pass(await send('precious words'));
    expect(await heard()).toEqual(['precious words']);
    expect(await heard({ timeout: 0 })).toEqual([]);
  });

  test('are delivered by the next wait where a batch was cut', async () => {
    one = await rawClient(server, '2025-03-26');
    const name = { agent_name: 'carol' };
    await one.call('join_council', name);
    const batch = one.begin(
      `[${[
        waitCall('wait_for_responses', { ...name, timeout: 40 }, 'a wait'),
        message('tools/call', { name: 'list', arguments: {} }, 'a list')
      ]}]`
    );
    await batch.says(/"id":"a list"/);
    await batch.cut();
    await pass(await send('precious words'));
    expect(await heard(name)).toEqual(['precious words']);
  });

  test('that were delivered count as delivered', async () => {
    const wait = await one.wait('wait_for_responses', alice, 'a wait');
    await send('One.');
    expect(JSON.stringify(factsIn(await wait.answer))).toContain('One.');
    await send('Two.');
    expect(await heard()).toEqual(['Two.']);
  });
});

describe('a result', () => {
  const gate = () => join(workspace.path, 'gate');
  const fileOf = (id: string, name: string) =>
    join(workspace.record, 'spawns', id, name);
  const ended = (id: string) =>
    until('its end', () => existsSync(fileOf(id, 'outcome.json')));
  const isRead = (id: string) => existsSync(fileOf(id, 'read'));
  const clean = async () =>
    (await runCommand(workspace, ['clean', '--keep', '0', '--yes'])).stdout;

  let client: RawClient;

  beforeEach(async () => {
    client = await rawClient(server);
  });

  async function spawned(): Promise<string> {
    const { agent_id } = await client.call('spawn_gate', { prompt: gate() });
    return String(agent_id);
  }

  test('that was not delivered is kept by clean, and a delivered one is removed', async () => {
    const id = await spawned();
    const args = { agent_ids: [id], timeout: 40 };
    const wait = await client.wait('wait_for_agents', args, 'cut');
    await wait.cut();
    writeFileSync(gate(), '');
    await ended(id);
    // A wait that goes on would have seen that by then.
    const other = await client.call('spawn_gate', { prompt: gate() });
    await client.call('wait_for_agents', { agent_ids: [other.agent_id] });
    expect(await clean()).not.toContain(id);
    const result = await client.call('result', { agent_id: id });
    expect(result.status).toBe('completed');
    await until('the mark', () => isRead(id));
    expect(await clean()).toContain(id);
  });

  async function started(): Promise<string | undefined> {
    const { running } = await client.call('list');
    return (running as { id: string }[])[0]?.id;
  }

  test.each([
    [
      'start_squad_members',
      { members: [{ roleId: 'architect', task: 'sleep 2\nsay a' }] }
    ],
    ['second_opinion', { question: 'sleep 2\nsay a', engines: ['rehearsal'] }]
  ])('of %s is unread when its connection was cut', async (tool, args) => {
    const call = await client.wait(tool, args, 'cut');
    await call.cut();
    const id = await until('it to start', started);
    await ended(id);
    writeFileSync(gate(), '');
    const other = await spawned();
    await client.call('wait_for_agents', { agent_ids: [other] });
    await until('the mark of another', () => isRead(other));
    expect(isRead(id)).toBe(false);
  });

  test('of each call in a batch is read when all of it has arrived', async () => {
    client = await rawClient(server, '2025-03-26');
    writeFileSync(gate(), '');
    const ids = [await spawned(), await spawned()];
    await Promise.all(ids.map(ended));
    const calls = ids.map((agent_id) =>
      message(
        'tools/call',
        { name: 'result', arguments: { agent_id } },
        agent_id
      )
    );
    const { text } = await client.begin(`[${calls}]`).answer;
    expect(text.match(/"status":"completed"/g)?.length).toBeGreaterThan(1);
    await until('both marks', () => ids.every(isRead));
  });
});
