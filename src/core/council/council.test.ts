import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type CouncilRoom,
  openCouncilRoom,
  whole
} from '../../../test/kit/servers/council-room.ts';
import {
  participantOf,
  processOf
} from '../../../test/kit/servers/council-states.ts';
import type { Council } from './council.ts';

let room: CouncilRoom;
/** Two servers of one council. */
let one: Council;
let two: Council;

beforeEach(() => {
  room = openCouncilRoom();
  one = room.server(1);
  two = room.server(2);
});

const contents = (responses: { content: string }[]) =>
  responses.map(({ content }) => content);

/** Each call that needs a session. */
const calls: [string, (council: Council) => Promise<unknown>][] = [
  ['join', (council) => council.join('bob', whole)],
  ['read', (council) => council.read('bob', null, whole)],
  ['readIf', (council) => council.readIf('bob', null, () => true, whole)],
  ['send', (council) => council.send('bob', 'Mine.')],
  ['close', (council) => council.close('bob', 'Done.')]
];

test.each(calls)('%s without a session is refused', async (_, call) => {
  await expect(call(one)).rejects.toMatchObject({ code: 'no_council' });
  expect(room.state()).toMatchObject({ session: null, participants: [] });
});

describe('a new session', () => {
  test('has one open request, its starter, and nothing else', async () => {
    const started = await one.start('alice', 'Which language?');
    const { session } = started;
    expect(started).toEqual({
      agentName: 'alice',
      session,
      previous: undefined
    });
    const { current_request_id: request, created_at } = session;
    expect(session).toMatchObject({ status: 'active', conclusion: null });
    expect(request).not.toBe(session.id);
    expect(room.state()).toEqual({
      version: 1,
      session,
      requests: [
        {
          id: request,
          content: 'Which language?',
          created_by: 'alice',
          created_at,
          status: 'open'
        }
      ],
      feedback: [],
      participants: [
        participantOf('alice', {
          last_seen: created_at,
          last_request_seen: request,
          owner: processOf(1)
        })
      ],
      former_participants: [],
      summons: []
    });
  });

  test('replaces the one before, which is kept whole', async () => {
    const { session: first } = await one.start('alice', 'Which language?');
    await two.join('bob', whole);
    await two.send('bob', 'This one.');
    const before = readFileSync(room.store.file.path, 'utf8');
    const next = await one.start('alice', 'Which name?');
    const file = join(room.folder, 'history', `${first.id}.json`);
    expect(next.previous).toEqual({ session: first, file });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(room.state()).toMatchObject({
      session: next.session,
      requests: [{ content: 'Which name?' }],
      feedback: [],
      participants: [{ agent_name: 'alice' }],
      former_participants: [
        { agent_name: 'bob', session_id: first.id, owner: processOf(2) }
      ]
    });
    expect(room.state().participants).toHaveLength(1);
    expect(next.session.id).not.toBe(first.id);
  });

  test('may replace a closed one, whose conclusion is kept', async () => {
    await one.start('alice', 'Which language?');
    const { session } = await one.close('alice', 'This one.');
    const { previous } = await one.start('alice', 'Which name?');
    expect(previous?.session).toEqual(session);
    expect(room.state().session?.conclusion).toBeNull();
    const kept = JSON.parse(readFileSync(previous?.file ?? '', 'utf8'));
    expect(kept.session.conclusion).toMatchObject({ content: 'This one.' });
  });

  test('of a server whose name is taken is started under another one', async () => {
    await one.start('alice', 'Which language?');
    const { agentName } = await two.start('alice', 'Which name?');
    expect(agentName).toBe('alice#2');
    expect(room.state().requests).toMatchObject([{ created_by: 'alice#2' }]);
    expect(room.state().participants).toMatchObject([
      { agent_name: 'alice#2', owner: processOf(2) }
    ]);
  });
});

test('an agent whose name is taken takes part under another one', async () => {
  await one.start('alice', 'Which language?');
  expect((await two.join('alice', whole)).answer.agentName).toBe('alice#2');
  const sent = await two.send('alice', 'This one.');
  expect([sent.agentName, sent.response.author]).toEqual([
    'alice#2',
    'alice#2'
  ]);
  const { agentName, session } = await two.close('alice', 'Settled.');
  expect([agentName, session.conclusion?.author]).toEqual([
    'alice#2',
    'alice#2'
  ]);
});

describe('an agent that joins', () => {
  test('gets the request and all responses, and is in the list', async () => {
    await one.start('alice', 'Which language?');
    await one.send('alice', 'First.');
    await one.send('alice', 'Second.');
    const { answer } = await two.join('bob', whole);
    expect(answer).toMatchObject({
      agentName: 'bob',
      knowsRequest: false,
      cursor: null,
      request: { content: 'Which language?' },
      participants: [{ agent_name: 'alice' }, { agent_name: 'bob' }]
    });
    expect(contents(answer.responses)).toEqual(['First.', 'Second.']);
  });

  test('again, gets everything from the beginning and keeps its cursors', async () => {
    await one.start('alice', 'Which language?');
    await one.send('alice', 'First.');
    const { markRead } = await two.join('bob', whole);
    await markRead();
    const known = room.participant('bob');
    const { answer } = await two.join('bob', whole);
    expect(contents(answer.responses)).toEqual(['First.']);
    expect(answer.knowsRequest).toBe(true);
    expect(room.participant('bob')).toMatchObject({
      last_request_seen: known?.last_request_seen,
      last_feedback_seen: known?.last_feedback_seen
    });
    expect(room.state().participants).toHaveLength(2);
  });

  test('a closed session gets its conclusion', async () => {
    await one.start('alice', 'Which language?');
    await one.close('alice', 'This one.');
    const { answer } = await two.join('bob', whole);
    expect(answer.session).toMatchObject({
      status: 'closed',
      conclusion: { author: 'alice', content: 'This one.' }
    });
  });
});

describe('a response', () => {
  test('belongs to the request and its author, and is counted', async () => {
    const { session } = await one.start('alice', 'Which language?');
    await one.send('alice', 'First.');
    const sent = await two.send('bob', 'Second.');
    expect(sent).toMatchObject({
      agentName: 'bob',
      session: { id: session.id },
      responses: 2,
      participants: 2,
      response: {
        author: 'bob',
        content: 'Second.',
        request_id: session.current_request_id
      }
    });
    const { feedback, participants } = room.state();
    expect(contents(feedback)).toEqual(['First.', 'Second.']);
    expect(feedback[1]).toEqual(sent.response);
    expect(participants).toHaveLength(2);
  });

  test('does not count as read by its author', async () => {
    await one.start('alice', 'Which language?');
    await one.send('alice', 'First.');
    expect(room.participant('alice')?.last_feedback_seen).toBeNull();
  });

  test('to a closed session is refused, and changes nothing', async () => {
    await one.start('alice', 'Which language?');
    await one.close('alice', 'This one.');
    const before = room.state();
    for (const [council, name] of [
      [one, 'alice'],
      [two, 'bob']
    ] as const)
      await expect(council.send(name, 'Wait!')).rejects.toMatchObject({
        code: 'council_closed',
        message: `The council ${before.session?.id} was closed by alice.`
      });
    expect(room.state()).toEqual(before);
  });
});

describe('a conclusion', () => {
  test('of any participant closes the session and its request', async () => {
    const { session } = await one.start('alice', 'Which language?');
    await two.send('bob', 'This one.');
    const { participants, feedback } = room.state();
    const closed = await two.close('bob', 'Settled.');
    const after = room.state();
    expect(closed).toEqual({ agentName: 'bob', session: after.session });
    expect(after.session).toEqual({
      ...session,
      status: 'closed',
      conclusion: {
        author: 'bob',
        content: 'Settled.',
        created_at: expect.any(String)
      }
    });
    expect(after.requests).toMatchObject([{ status: 'closed' }]);
    expect(after.feedback).toEqual(feedback);
    expect(after.participants).toHaveLength(participants.length);
  });

  test('leaves other requests of the file as they are', async () => {
    await one.start('alice', 'Which language?');
    const state = room.state();
    const [request] = state.requests;
    if (!request) throw new Error('There is no request.');
    const earlier = { ...request, id: 'earlier' };
    await room.put({ ...state, requests: [earlier, request] });
    await one.close('alice', 'Settled.');
    expect(room.state().requests).toEqual([
      earlier,
      { ...request, status: 'closed' }
    ]);
  });

  test('stands: a second one is refused', async () => {
    await one.start('alice', 'Which language?');
    const { session } = await one.close('alice', 'First.');
    await expect(two.close('bob', 'Second.')).rejects.toMatchObject({
      code: 'council_closed'
    });
    expect(room.state().session).toEqual(session);
    expect(room.participant('bob')).toBeUndefined();
  });
});

test('a server that took part is refused once a session is replaced, and nothing is recorded', async () => {
  await one.start('alice', 'Which language?');
  await two.join('bob', whole);
  await one.start('alice', 'Which name?');
  const before = room.state();
  const refused = { code: 'session_replaced' };
  await expect(two.send('bob', 'This one.')).rejects.toMatchObject(refused);
  await expect(two.close('bob', 'Settled.')).rejects.toMatchObject(refused);
  expect(room.state()).toEqual(before);
  await two.join('bob', whole);
  await two.send('bob', 'Troupe.');
  const { feedback, former_participants, session } = room.state();
  expect(contents(feedback)).toEqual(['Troupe.']);
  expect(former_participants).toEqual([]);
  expect(session?.status).toBe('active');
});

test('a server that took part may join the next session at once', async () => {
  await one.start('alice', 'Which language?');
  await two.join('bob', whole);
  await one.start('alice', 'Which name?');
  const { answer } = await two.join('bob', whole);
  expect(answer).toMatchObject({
    agentName: 'bob',
    knowsRequest: false,
    request: { content: 'Which name?' }
  });
});
