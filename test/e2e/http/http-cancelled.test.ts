import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type HttpClient,
  httpClient,
  type StartedHttp,
  startHttp
} from '../../kit/servers/http-server.ts';
import {
  factsIn,
  message,
  rawClient,
  waitCall
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
  expect(server.command.stderr).not.toMatch(/bug|failed|warning/i);
  workspace.remove();
});

async function start(http: Record<string, unknown> = {}): Promise<void> {
  workspace.write('troupe.config.json', JSON.stringify({ http }));
  server = await startHttp(workspace, { flags: ['--toolsets', 'all'] });
}

const council = { agent_name: 'ann', request: 'Which?' };
const wait = { agent_name: 'ann', timeout: 40 };
const waiting = 'wait_for_responses';

/** A wait that is cancelled when it is known to be under way. */
async function cancelledWait(
  client: HttpClient,
  agent_id: unknown
): Promise<void> {
  const leave = new AbortController();
  const args = { agent_ids: [agent_id], timeout: 40 };
  const call = client.call('wait_for_agents', args, {
    signal: leave.signal,
    onprogress: () => leave.abort()
  });
  await expect(call).rejects.toThrow();
}

describe('calls that are cancelled', () => {
  test.each([
    [600, {}],
    [80, { sessions: 1 }]
  ])(
    '%i of one client leave room for another client (%j)',
    async (count, http) => {
      await start(http);
      const client = await httpClient(server);
      const { data } = await client.call('spawn_rehearsal', { prompt: 'hang' });
      // Each takes two connections at a time, of 32 with one session.
      const each = 8;
      for (let made = 0; made < count; made += each)
        await Promise.all(
          Array.from({ length: each }, () =>
            cancelledWait(client, data.agent_id)
          )
        );
      await client.call('cancel_agent', { agent_id: data.agent_id });
      if ('sessions' in http) await client.leave();
      const other = await httpClient(server);
      expect((await other.call('list')).isError).toBe(false);
    },
    300_000
  );

  test('end their POST at once, and keep no session', async () => {
    await start({ idleMinutes: 0.01 });
    const client = await rawClient(server);
    await client.call('start_council', council);
    const call = await client.wait(waiting, wait, 'a wait');
    await client.cancel('a wait');
    const { status, text } = await call.answer;
    expect(status).toBe(200);
    expect(text).not.toContain('"result"');
    await until('the session has ended', async () => {
      // Looking at it uses it.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return (await client.ask('ping')).status === 404;
    });
  });

  test('take no other answer of their batch with them', async () => {
    await start();
    const client = await rawClient(server, '2025-03-26');
    await client.call('start_council', council);
    const two = [
      waitCall(waiting, wait, 'one'),
      waitCall(waiting, wait, 'two')
    ];
    const batch = client.begin(`[${two}]`);
    await batch.says(/"progressToken":"one".*"progressToken":"two"/s);
    await client.cancel('one');
    await client.call('send_response', { agent_name: 'bob', content: 'This.' });
    const { text } = await batch.answer;
    expect(text).toContain('"id":"two"');
    expect(text).not.toContain('"id":"one"');
  });

  test('in the same batch as the call end it', async () => {
    await start();
    const client = await rawClient(server, '2025-03-26');
    await client.call('start_council', council);
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'one' }
    };
    const batch = `[${waitCall(waiting, wait, 'one')},${JSON.stringify(cancel)}]`;
    const { status } = await client.begin(batch).answer;
    expect(status).toBe(200);
  });
});

describe('a request with the id of one that is under way', () => {
  test('is refused, and the first one is answered', async () => {
    await start();
    const client = await rawClient(server);
    await client.call('start_council', council);
    const first = await client.wait(waiting, wait, '777');
    const list = { name: 'list', arguments: {} };
    const again = () => client.begin(message('tools/call', list, '777')).answer;
    const refused = await again();
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text)).toMatchObject({
      id: '777',
      error: { code: -32600, message: expect.stringContaining('777') }
    });
    // A number is another id than its digits.
    const other = message('tools/call', list, 777);
    expect((await client.begin(other).answer).status).toBe(200);
    await client.call('send_response', { agent_name: 'bob', content: 'This.' });
    expect(JSON.stringify(factsIn(await first.answer))).toContain('This.');
    // It has its answer: its id is free.
    expect((await again()).status).toBe(200);
  });

  test('is taken when that was cut or cancelled', async () => {
    await start();
    const client = await rawClient(server);
    await client.call('start_council', council);
    const cut = await client.wait(waiting, wait, 'a wait');
    await cut.cut();
    const again = await client.wait(waiting, wait, 'a wait');
    await client.cancel('a wait');
    expect((await again.answer).text).not.toContain('"result"');
    const third = await client.wait(waiting, wait, 'a wait');
    await client.call('send_response', { agent_name: 'bob', content: 'This.' });
    expect(JSON.stringify(factsIn(await third.answer))).toContain('This.');
  });

  test('is refused in one batch, too', async () => {
    await start();
    const client = await rawClient(server, '2025-03-26');
    const batch = `[${message('ping')},${message('tools/list')}]`;
    const { status, text } = await client.begin(batch).answer;
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { code: -32600 } });
  });
});
