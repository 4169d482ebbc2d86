import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  refusal,
  viewIn,
  viewOf
} from '../../kit/servers/council-calls.ts';
import { councilIn, leftBeside } from '../../kit/servers/council-servers.ts';
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

describe('a council', () => {
  test('goes its whole round over two servers', async () => {
    for (const [tool, more] of [
      ['join_council', {}],
      ['get_current_session_data', {}],
      ['wait_for_responses', {}],
      ['send_response', { content: 'early' }],
      ['close_council', { conclusion: 'early' }]
    ] as const) {
      const answer = one.call(tool, { agent_name: 'alice', ...more });
      const { code, hint } = await refusal(answer);
      expect(code).toBe('no_council');
      expect(hint).toContain('start_council');
    }
    const started = await start();
    expect(started).toEqual({
      agent_name: 'alice',
      session_id: expect.any(String),
      request_id: expect.any(String),
      status: 'active'
    });
    const joined = await viewOf(two, 'join_council', 'bob');
    expect(joined).toMatchObject({
      agent_name: 'bob',
      session_id: started.session_id,
      status: 'active',
      request: { content: 'Which language?', created_by: 'alice' },
      responses: [],
      next_cursor: null,
      more: false
    });
    const names = joined.participants.map(({ agent_name }) => agent_name);
    expect(names).toEqual(['alice', 'bob']);

    const first = await send('Rust.');
    const heard = await viewOf(one, 'wait_for_responses', 'alice');
    expect(heard.responses).toEqual([
      {
        id: first,
        author: 'bob',
        content: 'Rust.',
        created_at: expect.any(String)
      }
    ]);
    expect(heard.next_cursor).toBe(first);
    const second = await send('Why not Go?', 'alice', one);
    const rest = await viewOf(two, 'get_current_session_data', 'bob', {
      cursor: first
    });
    expect(rest.responses.map(({ id }) => id)).toEqual([second]);
    expect(rest.request.content).toBeUndefined();

    expect(await close()).toMatchObject({
      status: 'closed',
      conclusion: { author: 'alice', content: 'Rust it is.' }
    });
    const last = await viewOf(two, 'get_current_session_data', 'bob', {
      cursor: second
    });
    expect(last).toMatchObject({
      status: 'closed',
      responses: [],
      next_cursor: second,
      conclusion: { author: 'alice', content: 'Rust it is.' }
    });
  });

  test('counts what it has answered to a client that leaves at once', async () => {
    const { request_id } = await start();
    const answer = two.call('join_council', { agent_name: 'bob' });
    await two.close();
    expect(viewIn(await answer).request.content).toBeDefined();
    expect(participant('bob')?.last_request_seen).toBe(request_id);
    expect(leftBeside(servers.path)).toHaveLength(1);
  });

  test('keeps in its file the participants and what each has seen', async () => {
    const { request_id } = await start();
    expect(participant('alice')).toMatchObject({
      last_request_seen: request_id,
      last_feedback_seen: null
    });
    const response = await send('Rust.');
    expect(participant('bob')).toMatchObject({
      last_request_seen: null,
      last_feedback_seen: null
    });
    for (const [server, name] of [
      [one, 'alice'],
      [two, 'bob']
    ] as const) {
      const before = participant(name)?.last_seen ?? '';
      await until('the clock to go on', () => {
        return new Date().toISOString() > before;
      });
      await viewOf(server, 'get_current_session_data', name);
      // That comes when the answer has been written.
      const after = await until('what it has seen', () => {
        const found = participant(name);
        return found?.last_feedback_seen === response ? found : undefined;
      });
      expect(after.last_request_seen).toBe(request_id);
      expect(after.last_seen > before).toBe(true);
    }
  });

  test('that is closed takes no responses and reports its conclusion to all', async () => {
    const { request_id } = await start();
    await viewOf(two, 'join_council', 'bob');
    // What bob has read is recorded after the answer was written.
    await until('what bob has read', () => {
      return participant('bob')?.last_request_seen === request_id;
    });
    await close();
    const before = servers.state();
    const sent = await refusal(
      two.call('send_response', { agent_name: 'bob', content: 'late' })
    );
    const closed = await refusal(
      two.call('close_council', { agent_name: 'bob', conclusion: 'No!' })
    );
    for (const { code, error } of [sent, closed]) {
      expect(code).toBe('council_closed');
      expect(error).toContain('was closed by alice');
    }
    expect(servers.state()).toEqual(before);
    for (const tool of [
      'join_council',
      'get_current_session_data',
      'wait_for_responses'
    ] as const) {
      const view = await viewOf(two, tool, 'carol');
      expect(view.status).toBe('closed');
      expect(view.timed_out).toBeUndefined();
      expect(view.conclusion?.content).toBe('Rust it is.');
    }
  });

  test.each(['active', 'closed'])(
    'that is %s is kept whole when the next one is started',
    async (status) => {
      const { session_id } = await start('The first?');
      await send('One.');
      await send('Two.', 'alice', one);
      if (status === 'closed') await close();
      const before = servers.state();

      const next = await start('The second?');
      expect(next.session_id).not.toBe(session_id);
      expect(next).toMatchObject({
        previous_session_id: session_id,
        previous_status: status
      });
      const file = String(next.history_file);
      expect(dirname(file)).toBe(join(dirname(servers.path), 'history'));
      expect(councilIn(file)).toEqual(before);
      expect(servers.state()).toMatchObject({
        version: 1,
        session: { id: next.session_id, status: 'active', conclusion: null },
        requests: [{ content: 'The second?', status: 'open' }],
        feedback: []
      });
      await start('The third?');
      expect(readFileSync(file, 'utf8')).toContain('The first?');
    }
  );
});
