import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  refusal,
  viewOf,
  waiting
} from '../../kit/servers/council-calls.ts';
import { councilIn } from '../../kit/servers/council-servers.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';

let servers: CouncilServers;
let one: McpClient;
let two: McpClient;
let first: Record<string, unknown>;
/** A response of the first session. */
let cursor: string;

beforeEach(async () => {
  servers = createCouncilServers();
  [one, two] = await Promise.all([servers.start(), servers.start()]);
  first = await start('The first?');
  const args = { agent_name: 'bob', content: 'To the first.' };
  cursor = String((await done(two, 'send_response', args)).response_id);
});

afterEach(() => servers.close());

const start = (request: string, server = one, agent_name = 'alice') =>
  done(server, 'start_council', { agent_name, request });

const late = (server = two) =>
  server.call('send_response', { agent_name: 'bob', content: 'Late.' });

/** Calls of a participant that takes the first session for the current one. */
const calls: [tool: string, more: Record<string, unknown>][] = [
  ['send_response', { content: 'Late.' }],
  ['close_council', { conclusion: 'Late.' }],
  ['get_current_session_data', {}],
  ['wait_for_responses', { timeout: 0 }]
];

describe('after another council was started', () => {
  test.each(calls)('%s says so to earlier participants', async (tool, more) => {
    const next = await start('The second?');
    const before = servers.state();
    const answer = two.call(tool, { agent_name: 'bob', ...more });
    const { code, error, hint } = await refusal(answer);
    expect(code).toBe('session_replaced');
    expect(error).toContain(String(first.session_id));
    expect(error).toContain(String(next.session_id));
    expect(hint).toContain('join_council');
    expect(servers.state()).toEqual(before);

    const view = await viewOf(two, 'join_council', 'bob');
    expect(view).toMatchObject({
      session_id: next.session_id,
      request: { content: 'The second?' },
      responses: []
    });
    const sent = await done(two, 'send_response', {
      agent_name: 'bob',
      content: 'To the second.'
    });
    expect(sent.request_id).toBe(next.request_id);
  });

  test('words are refused until the new request has been read', async () => {
    const next = await start('The second?');
    for (const _ of [1, 2, 3])
      expect((await refusal(late())).code).toBe('session_replaced');
    expect(servers.state().feedback).toEqual([]);
    const view = await viewOf(two, 'get_current_session_data', 'bob');
    expect(view.request.content).toBe('The second?');
    const sent = await done(two, 'send_response', {
      agent_name: 'bob',
      content: 'To the second.'
    });
    expect(sent.request_id).toBe(next.request_id);
  });

  test('an old cursor is unknown to the new council and returns nothing', async () => {
    await start('The second?');
    const read = (more: Record<string, unknown>) =>
      two.call('get_current_session_data', { agent_name: 'bob', ...more });
    expect((await refusal(read({ cursor }))).code).toBe('session_replaced');
    const before = servers.state();
    const { code, error, hint } = await refusal(read({ cursor }));
    expect(code).toBe('unknown_cursor');
    expect(error).toContain(cursor);
    expect(hint).toContain('next_cursor');
    expect(servers.state()).toEqual(before);
    expect((await read({})).isError).toBe(false);
  });

  test('each later council is announced again', async () => {
    await start('The second?');
    expect((await refusal(late())).code).toBe('session_replaced');
    await viewOf(two, 'join_council', 'bob');
    await start('The third?');
    expect((await refusal(late())).code).toBe('session_replaced');
    await start('The fourth?');
    const { error } = await refusal(late());
    expect(error).toContain(String(servers.state().session?.id));
    expect(servers.state().feedback).toEqual([]);
  });

  test('the starter needs no announcement', async () => {
    await start('The second?', two, 'bob');
    const sent = await done(two, 'send_response', {
      agent_name: 'bob',
      content: 'I begin.'
    });
    expect(sent).toMatchObject({ agent_name: 'bob' });
    const answer = one.call('send_response', {
      agent_name: 'alice',
      content: 'Late.'
    });
    expect((await refusal(answer)).code).toBe('session_replaced');
  });
});

describe('a wait that is under way', () => {
  test.each([
    ['without a cursor', {}],
    ['with one', { withCursor: true }]
  ])(
    '%s ends when another server starts a council',
    async (_, {
      withCursor
    }: {
      withCursor?: boolean;
    }) => {
      const { answer } = await waiting(two, {
        agent_name: 'bob',
        timeout: 45,
        ...(withCursor ? { cursor } : {})
      });
      const next = await start('The second?');
      const { code, error } = await refusal(answer);
      expect(code).toBe('session_replaced');
      expect(error).toContain(String(next.session_id));
      const view = await viewOf(two, 'wait_for_responses', 'bob', {
        timeout: 0
      });
      expect(view).toMatchObject({
        session_id: next.session_id,
        request: { content: 'The second?' },
        responses: [],
        timed_out: true
      });
    }
  );
});

describe('a fresh server under the name of a gone participant', () => {
  test.each([
    [0, 'send_response', { content: 'Late.' }],
    [1, 'close_council', { conclusion: 'Late.' }]
  ])('may not speak before it has read (%#)', async (_, tool, more) => {
    await servers.kill(two);
    const next = await start('The second?');
    const fresh = await servers.start();
    const answer = fresh.call(tool, { agent_name: 'bob', ...more });
    expect((await refusal(answer)).code).toBe('session_replaced');
    expect(servers.state()).toMatchObject({
      session: { status: 'active' },
      feedback: []
    });
    const view = await viewOf(fresh, 'get_current_session_data', 'bob');
    expect(view).toMatchObject({
      agent_name: 'bob',
      session_id: next.session_id,
      request: { content: 'The second?' }
    });
    const sent = await done(fresh, 'send_response', {
      agent_name: 'bob',
      content: 'To the second.'
    });
    expect(sent.request_id).toBe(next.request_id);
  });

  test.each([
    'get_current_session_data',
    'join_council',
    'wait_for_responses'
  ] as const)('is given the new council by %s at once', async (tool) => {
    await servers.kill(two);
    await start('The second?');
    const fresh = await servers.start();
    const more = tool === 'wait_for_responses' ? { timeout: 0 } : {};
    const view = await viewOf(fresh, tool, 'bob', more);
    expect(view).toMatchObject({
      agent_name: 'bob',
      request: { content: 'The second?' },
      responses: []
    });
  });
});

test('no answer is ever filed under another question', async () => {
  const workers = await Promise.all([1, 2, 3].map(() => servers.start()));
  const files: string[] = [];
  const accepted: string[] = [];
  let atWork = workers.length;
  const starting = async () => {
    while (atWork > 0) {
      const { history_file } = await start('And this?');
      files.push(String(history_file));
    }
  };
  const answering = async (server: McpClient, index: number) => {
    const agent_name = `worker ${index}`;
    for (let turn = 0; turn < 40; turn += 1) {
      const joined = await viewOf(server, 'join_council', agent_name);
      // What is sent twice may meet two questions.
      for (const part of ['a', 'b']) {
        const content = `${turn}${part} of ${index} to ${joined.request.id}`;
        const args = { agent_name, content };
        const { isError, data } = await server.call('send_response', args);
        if (!isError) accepted.push(content);
        else expect(data.error_code).toBe('session_replaced');
      }
    }
    atWork -= 1;
  };
  await Promise.all([starting(), ...workers.map(answering)]);
  const all = [...files.map(councilIn), servers.state()].flatMap(
    ({ feedback }) => feedback
  );
  const ours = all.filter(({ author }) => author !== 'bob');
  for (const { content, request_id } of ours)
    expect(content.endsWith(` to ${request_id}`)).toBe(true);
  const recorded = ours.map(({ content }) => content);
  expect(recorded.toSorted()).toEqual(accepted.toSorted());
});
