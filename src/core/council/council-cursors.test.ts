import { beforeEach, describe, expect, test } from 'vitest';
import {
  type CouncilRoom,
  openCouncilRoom,
  whole
} from '../../../test/kit/servers/council-room.ts';
import {
  openCouncil,
  participantOf,
  processOf
} from '../../../test/kit/servers/council-states.ts';
import type { Council } from './council.ts';
import type { View } from './view.ts';

let room: CouncilRoom;
let alice: Council;
let bob: Council;

beforeEach(async () => {
  room = openCouncilRoom();
  alice = room.server(1);
  bob = room.server(2);
  await alice.start('alice', 'Which language?');
});

const contents = ({ responses }: View) =>
  responses.map(({ content }) => content);

const always = () => true;

/** Reads what is new to bob; undefined if it is not wanted. */
async function news(isWanted: (view: View) => boolean = always) {
  const read = await bob.readIf('bob', null, isWanted, whole);
  return 'answer' in read ? read : undefined;
}

describe('the cursor of a participant', () => {
  test('moves when an answer was received, not before', async () => {
    await alice.send('alice', 'First.');
    const first = await news();
    expect(room.participant('bob')).toMatchObject({
      last_request_seen: null,
      last_feedback_seen: null
    });
    const again = await news();
    expect(again && contents(again.answer)).toEqual(['First.']);
    expect(again?.answer.knowsRequest).toBe(false);
    await first?.markRead();
    const { session, feedback } = room.state();
    expect(room.participant('bob')).toMatchObject({
      last_request_seen: session?.current_request_id,
      last_feedback_seen: feedback[0]?.id
    });
    await alice.send('alice', 'Second.');
    const second = await news();
    expect(second && contents(second.answer)).toEqual(['Second.']);
    expect(second?.answer).toMatchObject({
      knowsRequest: true,
      cursor: feedback[0]?.id
    });
  });

  test('is moved by its own answers alone', async () => {
    await alice.send('alice', 'First.');
    await (await news())?.markRead();
    expect(room.participant('alice')?.last_feedback_seen).toBeNull();
  });

  test('moves to the end of a part of the responses', async () => {
    await alice.send('alice', 'First.');
    await alice.send('alice', 'Second.');
    const { markRead } = await bob.read('bob', null, (view) => ({
      answer: view,
      cursor: view.responses[0]?.id ?? null
    }));
    await markRead();
    const rest = await news();
    expect(rest && contents(rest.answer)).toEqual(['Second.']);
  });

  test('stays if the answer is unwanted, which still counts as seen', async () => {
    await room.put(
      openCouncil({
        participants: [participantOf('bob', { owner: processOf(2) })]
      })
    );
    const before = room.participant('bob');
    expect(await news(() => false)).toBeUndefined();
    const after = room.participant('bob');
    expect(after?.last_seen).not.toBe(before?.last_seen);
    expect(after).toMatchObject({
      last_request_seen: null,
      last_feedback_seen: null
    });
  });

  test('does not move once another session was started', async () => {
    await alice.send('alice', 'First.');
    const old = await news();
    await alice.start('alice', 'Which name?');
    await bob.join('bob', whole);
    await old?.markRead();
    expect(room.participant('bob')).toMatchObject({
      last_request_seen: null,
      last_feedback_seen: null
    });
  });

  test('does not move once another server has the name', async () => {
    await alice.send('alice', 'First.');
    const old = await news();
    const later = room.server(3, [2]);
    await later.read('bob', null, whole);
    await old?.markRead();
    expect(room.participant('bob')).toMatchObject({
      owner: processOf(3),
      last_feedback_seen: null
    });
  });

  test('is that of the ended server which had the name before', async () => {
    await alice.send('alice', 'First.');
    await (await news())?.markRead();
    const later = room.server(3, [2]);
    const read = await later.readIf('bob', null, always, whole);
    expect('answer' in read && contents(read.answer)).toEqual([]);
  });

  test('is not written again if it has not changed', async () => {
    const first = await news();
    await first?.markRead();
    const again = await news();
    const stamp = room.store.file.stamp();
    await again?.markRead();
    expect(room.store.file.stamp()).toBe(stamp);
    await alice.send('alice', 'First.');
    await (await news())?.markRead();
    expect(room.store.file.stamp()).not.toBe(stamp);
  });
});

describe('a cursor of the caller', () => {
  test('decides where the answer begins, not what was read', async () => {
    const { response: first } = await alice.send('alice', 'First.');
    const { response: second } = await alice.send('alice', 'Second.');
    await (await news())?.markRead();
    const readFrom = async (cursor: string | null) =>
      contents((await bob.read('bob', cursor, whole)).answer);
    expect(await readFrom(null)).toEqual(['First.', 'Second.']);
    expect(await readFrom(first.id)).toEqual(['Second.']);
    expect(await readFrom(second.id)).toEqual([]);
    const read = await bob.readIf('bob', first.id, always, whole);
    expect('answer' in read && contents(read.answer)).toEqual(['Second.']);
  });

  test('that the session does not have is refused', async () => {
    const unknown = { code: 'unknown_cursor' };
    await expect(bob.read('bob', 'x', whole)).rejects.toMatchObject(unknown);
    await expect(bob.readIf('bob', 'x', always, whole)).rejects.toMatchObject(
      unknown
    );
    expect(room.participant('bob')).toBeUndefined();
  });

  test('of a session that was replaced meanwhile is refused', async () => {
    const { session } = room.state();
    const from = { session_id: session?.id ?? '', cursor: null };
    expect(await bob.readIf('bob', from, always, whole)).toHaveProperty(
      'answer'
    );
    const next = await alice.start('alice', 'Which name?');
    await bob.join('bob', whole);
    await expect(bob.readIf('bob', from, always, whole)).rejects.toMatchObject({
      code: 'session_replaced'
    });
    const now = { session_id: next.session.id, cursor: null };
    expect(await bob.readIf('bob', now, always, whole)).toHaveProperty(
      'answer'
    );
  });
});

describe('a look without a write', () => {
  test('sees the new responses after the cursor of a view', async () => {
    const { response } = await alice.send('alice', 'First.');
    const { answer: view } = await bob.read('bob', response.id, whole);
    await alice.send('alice', 'Second.');
    const stamp = room.store.file.stamp();
    const seen = bob.peek(view);
    expect(seen && contents(seen)).toEqual(['Second.']);
    expect(room.store.file.stamp()).toBe(stamp);
  });

  test('sees nothing of another session', async () => {
    const { answer: view } = await bob.join('bob', whole);
    await alice.start('alice', 'Which name?');
    expect(bob.peek(view)).toBeUndefined();
    await bob.join('bob', whole);
    expect(bob.peek(view)).toBeUndefined();
  });
});
