import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  viewOf
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

const start = (agent_name = 'alice', server = one) =>
  done(server, 'start_council', { agent_name, request: 'Which?' });

const send = (agent_name: string, server: McpClient, content = 'This.') =>
  done(server, 'send_response', { agent_name, content });

const note = (name: string, asked = 'alice') =>
  `Another server's agent is "${asked}": you are "${name}".`;

function seated() {
  return servers.state().participants.map(({ agent_name }) => agent_name);
}

describe('a name that an agent of another live server has', () => {
  test('is numbered, and the number is kept for every later call', async () => {
    const three = await servers.start();
    await start();
    const second = await viewOf(two, 'join_council', 'alice');
    expect(second.agent_name).toBe('alice#2');
    expect(second.message).toBe(note('alice#2'));
    const third = await viewOf(three, 'get_current_session_data', 'alice');
    expect(third.agent_name).toBe('alice#3');

    expect(await send('alice', two)).toMatchObject({
      agent_name: 'alice#2',
      participants_total: 3,
      message: note('alice#2')
    });
    expect(await send('alice', three)).toMatchObject({ agent_name: 'alice#3' });
    expect(await send('alice', one)).not.toHaveProperty('message');
    const view = await viewOf(two, 'get_current_session_data', 'alice');
    expect(view.agent_name).toBe('alice#2');
    expect(view.responses.map(({ author }) => author)).toEqual([
      'alice#2',
      'alice#3',
      'alice'
    ]);
    const closed = await done(two, 'close_council', {
      agent_name: 'alice',
      conclusion: 'This.'
    });
    expect(closed).toMatchObject({
      agent_name: 'alice#2',
      conclusion: { author: 'alice#2' }
    });
    expect(seated()).toEqual(['alice', 'alice#2', 'alice#3']);
  });

  test('is the same agent when it calls itself by its number', async () => {
    await start();
    await viewOf(two, 'join_council', 'alice');
    const sent = await send('alice#2', two);
    expect(sent).toMatchObject({ agent_name: 'alice#2' });
    expect(sent).not.toHaveProperty('message');
    const view = await viewOf(two, 'wait_for_responses', 'alice#2', {
      timeout: 0
    });
    expect(view.agent_name).toBe('alice#2');
    expect(await send('alice', two)).toMatchObject({ agent_name: 'alice#2' });
    expect(seated()).toEqual(['alice', 'alice#2']);
  });

  test('stays numbered in the next session too', async () => {
    await start();
    await send('alice', two);
    await start();
    const told = await two.call('join_council', { agent_name: 'alice' });
    expect(told.data.agent_name).toBe('alice#2');
    expect(await start('alice', two)).toMatchObject({ agent_name: 'alice#2' });
    expect(servers.state().requests).toMatchObject([{ created_by: 'alice#2' }]);
    const first = await viewOf(one, 'join_council', 'alice');
    expect(first.agent_name).toBe('alice');
  });

  test('is kept for it in the next session, until it comes', async () => {
    const three = await servers.start();
    await start();
    await send('bob', two);
    await start();
    const other = await viewOf(three, 'join_council', 'bob');
    expect(other.agent_name).toBe('bob#2');
    const first = await viewOf(two, 'join_council', 'bob');
    expect(first.agent_name).toBe('bob');
    expect(seated()).toEqual(['alice', 'bob#2', 'bob']);
  });

  test('is not given to two participants that join at the same moment', async () => {
    await start();
    const more = await Promise.all([1, 2, 3].map(() => servers.start()));
    const views = await Promise.all(
      [two, ...more].map((server) => viewOf(server, 'join_council', 'bob'))
    );
    const names = views.map(({ agent_name }) => agent_name);
    expect(names.toSorted()).toEqual(['bob', 'bob#2', 'bob#3', 'bob#4']);
    expect(seated().toSorted()).toEqual(['alice', ...names.toSorted()]);
  });
});

describe('a server that was killed', () => {
  test('gets its name back, with what it had seen', async () => {
    const three = await servers.start();
    await start('carol', three);
    const first = String((await send('carol', three, 'One.')).response_id);
    const before = await viewOf(one, 'wait_for_responses', 'alice');
    expect(before.next_cursor).toBe(first);
    await viewOf(two, 'join_council', 'alice');
    const second = String((await send('carol', three, 'Two.')).response_id);
    await servers.kill(one);

    // The other one is called as it was before.
    expect(await send('alice', two)).toMatchObject({ agent_name: 'alice#2' });
    const again = await servers.start();
    const view = await viewOf(again, 'wait_for_responses', 'alice');
    expect(view.agent_name).toBe('alice');
    expect(view.message).toBeUndefined();
    expect(view.responses[0]?.id).toBe(second);
    expect(view.responses).toHaveLength(2);
    expect(view.request.content).toBeUndefined();
    expect(seated()).toEqual(['carol', 'alice', 'alice#2']);
  });

  test('gets its number back when the first of that name lives', async () => {
    await start();
    await send('alice', two);
    await servers.kill(two);
    const again = await servers.start();
    const view = await viewOf(again, 'get_current_session_data', 'alice');
    expect(view.agent_name).toBe('alice#2');
    expect(seated()).toEqual(['alice', 'alice#2']);
  });
});

test.each([
  'two\nlines\n# and a heading',
  'Zoë 🦊 👩‍👩‍👧 日本',
  'שלום \u202eabc',
  'n'.repeat(200),
  '🦊'.repeat(100),
  '__proto__',
  'alice#2',
  'a · id: b "quoted" \\ | `x`'
])('a name may be %j', async (name) => {
  const started = await start(name);
  expect(started.agent_name).toBe(name);
  await send(name, one);
  const other = await viewOf(two, 'join_council', name);
  expect(other.agent_name).toBe(`${name}#2`);
  expect(other.request.created_by).toBe(name);
  expect(other.responses).toMatchObject([{ author: name }]);
  expect(other.participants).toMatchObject([
    { agent_name: name, responses: 1 },
    { agent_name: `${name}#2`, responses: 0 }
  ]);
  await viewOf(one, 'get_current_session_data', name);
  expect(seated()).toEqual([name, `${name}#2`]);
});

test('a name is the same with blanks around it', async () => {
  await start('alice');
  const sent = await send('  alice\n', one);
  expect(sent).toMatchObject({ agent_name: 'alice', participants_total: 1 });
});
