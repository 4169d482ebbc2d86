import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { councilFileOf, councilIn } from '../../kit/servers/council-servers.ts';
import {
  type HttpClient,
  httpClient,
  type StartedHttp,
  startHttp
} from '../../kit/servers/http-server.ts';
import {
  ask,
  initialize,
  message,
  rawClient,
  rawSession
} from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: StartedHttp;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  expect(await server.end()).toBe(0);
  expect(server.command.stdout).toBe('');
  workspace.remove();
});

async function start(http: Record<string, unknown> = {}): Promise<void> {
  workspace.write('troupe.config.json', JSON.stringify({ http }));
  server = await startHttp(workspace);
}

async function spawned(client: HttpClient, prompt: string): Promise<string> {
  const { data } = await client.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

describe('two clients at once', () => {
  let one: HttpClient;
  let two: HttpClient;

  beforeEach(async () => {
    await start();
    [one, two] = await Promise.all([httpClient(server), httpClient(server)]);
  });

  test('an agent of one runs to its end, and the other has its answer', async () => {
    const agent_id = await spawned(one, 'sleep 0.2\nsay over HTTP');
    const listed = await two.call('list');
    expect(listed.text).toContain(agent_id);
    const waited = await two.call('wait_for_agents', { agent_ids: [agent_id] });
    expect(waited.text).toContain('over HTTP');
    const result = await one.call('result', { agent_id });
    expect(result.data).toMatchObject({ status: 'completed' });
  });

  test('a wait of one holds up neither the other nor itself', async () => {
    const agent_id = await spawned(one, 'hang');
    const leave = new AbortController();
    const waiting = one
      .call(
        'wait_for_agents',
        { agent_ids: [agent_id], timeout: 40 },
        { signal: leave.signal }
      )
      .catch(() => 'given up');
    const began = performance.now();
    for (const client of [two, one]) await client.call('list');
    expect(performance.now() - began).toBeLessThan(2000);
    await two.call('cancel_agent', { agent_id });
    expect(await waiting).toMatchObject({ isError: false });
  });

  test('a leaving client ends its waits, and its agents go on', async () => {
    const agent_id = await spawned(one, 'hang');
    const waiting = one
      .call('wait_for_agents', { agent_ids: [agent_id], timeout: 40 })
      .then(
        () => 'answered',
        () => 'gone'
      );
    await one.leave();
    expect(await waiting).toBe('gone');
    const { data } = await two.call('result', { agent_id });
    expect(data.status).toBe('running');
    await two.call('cancel_agent', { agent_id });
  });

  test('each is notified for as long as it waits itself', async () => {
    await one.call('start_council', { agent_name: 'ann', request: 'Which?' });
    const told = await Promise.all(
      ['unknown', 'codex-mcp-client', 'claude-code'].map(async (name) => {
        const client = await httpClient(server, name);
        const leave = new AbortController();
        return new Promise((resolve) => {
          const waiting = client.call(
            'wait_for_responses',
            { agent_name: name, timeout: 600 },
            {
              signal: leave.signal,
              onprogress: ({ message }) => {
                resolve(/up to (\d+) s/.exec(message ?? '')?.[1]);
                leave.abort();
              }
            }
          );
          waiting.catch(() => undefined);
        });
      })
    );
    expect(told).toEqual(['50', '290', '110']);
  });
});

describe('a name in the council', () => {
  const join = async (client: HttpClient) =>
    (await client.call('join_council', { agent_name: 'ann' })).data.agent_name;

  test("is one session's while that is there, and free after it", async () => {
    await start();
    const [one, two] = [await httpClient(server), await httpClient(server)];
    await one.call('start_council', { agent_name: 'ann', request: 'Which?' });
    expect(await join(two)).toBe('ann#2');
    expect(await join(one)).toBe('ann');
    const sent = await two.call('send_response', {
      agent_name: 'ann',
      content: 'This.'
    });
    expect(sent.data).toMatchObject({ agent_name: 'ann#2' });
    const { participants } = councilIn(councilFileOf(workspace));
    const [first, second] = participants.map(({ owner }) => owner);
    expect(first).toMatchObject({ pid: second?.pid, session: '1' });
    expect(second).toMatchObject({ session: '2' });
    expect(JSON.stringify(participants)).not.toContain(
      String(one.transport.sessionId)
    );

    await one.leave();
    const three = await httpClient(server);
    expect(await join(three)).toBe('ann');
    expect(await join(two)).toBe('ann#2');
  });
});

describe('a client that comes back without having said that it leaves', () => {
  const name = { agent_name: 'ann' };
  /** Its session has had nothing open for a while by then. */
  const awhile = () => new Promise((resolve) => setTimeout(resolve, 5500));

  test('has its name in the council again, and what it has not received', async () => {
    await start();
    const one = await httpClient(server, 'a client');
    const bob = await httpClient(server, 'another');
    const say = (content: string) =>
      bob.call('send_response', { agent_name: 'bob', content });
    const heard = async (client: HttpClient) =>
      (await client.call('wait_for_responses', name)).data;
    await one.call('start_council', { ...name, request: 'Which?' });
    await say('One.');
    await heard(one);
    await one.sdk.close();
    await awhile();
    await say('Two.');
    const again = await httpClient(server, 'a client');
    expect(await heard(again)).toMatchObject({
      agent_name: 'ann',
      responses: [{ content: 'Two.' }]
    });
  });

  test('is not taken for one that is there, or for another client', async () => {
    await start();
    const streaming = await httpClient(server, 'a client');
    await streaming.call('start_council', { ...name, request: 'Which?' });
    const resting = await rawClient(server);
    await resting.call('join_council', { agent_name: 'ben' });
    await awhile();
    const other = await httpClient(server, 'a client');
    const named = async (agent_name: string) =>
      (await other.call('join_council', { agent_name })).data.agent_name;
    expect(await named('ann')).toBe('ann#2');
    expect(await named('ben')).toBe('ben#2');
    expect(
      await resting.call('join_council', { agent_name: 'ben' })
    ).toMatchObject({ agent_name: 'ben' });
  });
});

describe('the number of sessions', () => {
  test('is limited: one more is asked to come again', async () => {
    await start();
    const ids = await Promise.all(
      Array.from({ length: 32 }, () => rawSession(server))
    );
    const { status, headers } = await ask(server, { body: initialize });
    expect(status).toBe(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(headers['mcp-session-id']).toBeUndefined();
    // Open sessions are served, and a closed one makes room for another.
    const [id = '', ...others] = ids;
    const own = { 'mcp-session-id': id };
    const list = { headers: own, body: message('ping') };
    expect((await ask(server, list)).status).toBe(200);
    await ask(server, { method: 'DELETE', headers: own });
    expect(others).not.toContain(await rawSession(server));
    expect((await ask(server, { body: initialize })).status).toBe(503);
  });

  test('keeps no client out for ones that left silently', async () => {
    await start({ sessions: 2, idleMinutes: 0.1 });
    const streaming = await httpClient(server);
    const left = await rawSession(server);
    const full = await ask(server, { body: initialize });
    expect(full.status).toBe(503);
    const seconds = Number(full.headers['retry-after']);
    expect(seconds).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    expect(await rawSession(server)).not.toBe(left);
    const headers = { 'mcp-session-id': left };
    const gone = await ask(server, { headers, body: message('ping') });
    expect(gone.status).toBe(404);
    expect((await streaming.call('list')).isError).toBe(false);
  });

  test('counts none that were refused', async () => {
    await start({ sessions: 1 });
    for (let tries = 0; tries < 3; tries += 1) {
      const headers = { accept: 'application/json' };
      const refused = await ask(server, { headers, body: initialize });
      expect(refused.status).toBe(406);
    }
    await rawSession(server);
  });
});

describe('an unused session', () => {
  const status = async (id: string) => {
    const headers = { 'mcp-session-id': id };
    return (await ask(server, { headers, body: message('ping') })).status;
  };
  /** Too late by itself: looking at a session uses it. */
  const isGone = (id: string) => async () => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return (await status(id)) === 404 || undefined;
  };

  test('ends, and its client finds that out', async () => {
    await start({ idleMinutes: 0.01 });
    const id = await rawSession(server);
    expect(await status(id)).toBe(200);
    await until('the session has ended', isGone(id));
  });

  test('does not end while a call or a stream is open', async () => {
    await start({ idleMinutes: 0.01 });
    // The SDK's client has a stream open from its start.
    const streaming = await httpClient(server);
    const calling = await rawSession(server);
    const spawn = {
      name: 'spawn_rehearsal',
      arguments: { prompt: 'sleep 2\nsay done' }
    };
    const headers = { 'mcp-session-id': calling };
    await ask(server, { headers, body: message('tools/call', spawn) });
    const wait = { name: 'wait_for_agents', arguments: {} };
    const body = message('tools/call', wait);
    const { text } = await ask(server, { headers, body });
    expect(text).toContain('done');
    expect(await status(calling)).toBe(200);
    expect((await streaming.call('list')).isError).toBe(false);
    await until('the other one has ended', isGone(calling));
    expect((await streaming.call('list')).isError).toBe(false);
  });
});
