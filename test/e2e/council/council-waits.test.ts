import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  progress,
  refusal,
  viewIn,
  viewOf,
  waiting
} from '../../kit/servers/council-calls.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';

let servers: CouncilServers;
let one: McpClient;
let two: McpClient;

beforeEach(async () => {
  servers = createCouncilServers();
  [one, two] = await Promise.all([servers.start(), servers.start()]);
});

afterEach(() => servers.close());

const start = (request = 'Which language?') =>
  done(one, 'start_council', { agent_name: 'alice', request });

async function send(content: string, agent_name = 'bob', server = two) {
  const args = { agent_name, content };
  return String((await done(server, 'send_response', args)).response_id);
}

const close = (conclusion = 'Rust it is.') =>
  done(one, 'close_council', { agent_name: 'alice', conclusion });

function participant(name: string) {
  const { participants } = servers.state();
  return participants.find(({ agent_name }) => agent_name === name);
}

describe('a wait for responses', () => {
  test('is woken by the words of another server, not by its own', async () => {
    await start();
    const { answer } = await waiting(one, { agent_name: 'alice', timeout: 40 });
    const own = await send('I begin.', 'alice', one);
    const response = await send('Rust.');
    const view = viewIn(await answer);
    expect(view.timed_out).toBeUndefined();
    expect(view.responses.map(({ id }) => id)).toEqual([own, response]);
    expect(view.next_cursor).toBe(response);
  });

  test('is woken when the council is closed', async () => {
    await start();
    const { answer } = await waiting(two, { agent_name: 'bob', timeout: 40 });
    await close('Enough.');
    const view = viewIn(await answer);
    expect(view).toMatchObject({
      status: 'closed',
      responses: [],
      conclusion: { author: 'alice', content: 'Enough.' }
    });
    expect(view.timed_out).toBeUndefined();
  });

  test.each([0, 0.2])(
    'of %d s ends in time and keeps its cursor',
    async (timeout) => {
      await start();
      const cursor = await send('Rust.');
      await viewOf(one, 'get_current_session_data', 'alice');
      const more = { cursor, timeout };
      const view = await viewOf(one, 'wait_for_responses', 'alice', more);
      expect(view).toMatchObject({
        timed_out: true,
        responses: [],
        next_cursor: cursor,
        more: false,
        message: expect.stringContaining('nothing is lost')
      });
      await until('what alice has read', () => {
        return participant('alice')?.last_feedback_seen === cursor;
      });
      const again = await viewOf(one, 'wait_for_responses', 'alice', {
        timeout
      });
      expect(again).toMatchObject({ timed_out: true, next_cursor: cursor });
    }
  );

  test('without a cursor continues after what was delivered last', async () => {
    await start();
    const ids = [await send('One.'), await send('Two.')];
    const first = await viewOf(one, 'wait_for_responses', 'alice');
    expect(first.responses.map(({ id }) => id)).toEqual(ids);
    const third = await send('Three.');
    const next = await viewOf(one, 'wait_for_responses', 'alice');
    expect(next.responses.map(({ id }) => id)).toEqual([third]);
  });

  test('does not take the words of its own agent for news', async () => {
    await start();
    const own = await send('I begin.', 'alice', one);
    const more = { timeout: 0 };
    const view = await viewOf(one, 'wait_for_responses', 'alice', more);
    expect(view.timed_out).toBe(true);
    expect(view.responses.map(({ id }) => id)).toEqual([own]);
  });

  test('that is cancelled as it begins delivers nothing', async () => {
    await start();
    const response = await send('Rust.');
    const wait = {
      jsonrpc: '2.0',
      id: 'a wait',
      method: 'tools/call',
      params: {
        name: 'wait_for_responses',
        arguments: { agent_name: 'alice' }
      }
    };
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'a wait' }
    };
    // In one piece: an answer that is out cannot be taken back.
    const pieces = [wait, cancel].map((one) => `${JSON.stringify(one)}\n`);
    one.child.stdin?.write(pieces.join(''));
    const view = await viewOf(one, 'wait_for_responses', 'alice');
    expect(view.responses.map(({ id }) => id)).toEqual([response]);
    expect(one.notifications.filter(({ id }) => id === 'a wait')).toEqual([]);
  });

  test('that is cancelled delivers nothing and gets no answer', async () => {
    await start();
    await viewOf(one, 'get_current_session_data', 'alice');
    one.send({
      jsonrpc: '2.0',
      id: 'a wait',
      method: 'tools/call',
      params: {
        name: 'wait_for_responses',
        arguments: { agent_name: 'alice', timeout: 40 },
        _meta: { progressToken: 'a wait' }
      }
    });
    await progress(one);
    one.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'a wait' }
    });
    await one.request('ping');
    const response = await send('Rust.');
    expect(participant('alice')?.last_feedback_seen).toBeNull();
    const view = await viewOf(one, 'wait_for_responses', 'alice');
    expect(view.responses.map(({ id }) => id)).toEqual([response]);
    const answers = one.notifications.filter(({ id }) => id === 'a wait');
    expect(answers).toEqual([]);
  });

  test('delivers what there is, though another wait of its agent has delivered it', async () => {
    await start();
    const args = { agent_name: 'alice', timeout: 40 };
    const waits = [await waiting(one, args), await waiting(one, args)];
    const response = await send('Rust.');
    for (const { answer } of waits) {
      const { responses } = viewIn(await answer);
      expect(responses.map(({ id }) => id)).toEqual([response]);
    }
    const more = { timeout: 0 };
    const view = await viewOf(one, 'wait_for_responses', 'alice', more);
    expect(view.responses).toEqual([]);
  });

  test('ends with the session, though its agent waits twice', async () => {
    await start();
    const args = { agent_name: 'bob', timeout: 40 };
    const waits = [await waiting(two, args), await waiting(two, args)];
    const { session_id } = await start('Another?');
    for (const { answer } of waits) {
      const { code, error } = await refusal(answer);
      expect(code).toBe('session_replaced');
      expect(error).toContain(String(session_id));
    }
    const view = await viewOf(two, 'wait_for_responses', 'bob', { timeout: 0 });
    expect(view.request.content).toBe('Another?');
  });

  test('ends with the session, though its agent starts the next', async () => {
    await start();
    const args = { agent_name: 'alice', timeout: 40 };
    const { answer } = await waiting(one, args);
    await start('Another?');
    expect((await refusal(answer)).code).toBe('session_replaced');
  });
});
