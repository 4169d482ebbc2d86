import { beforeEach, expect, test } from 'vitest';
import {
  type CouncilRoom,
  openCouncilRoom,
  whole
} from '../../../test/kit/servers/council-room.ts';
import type { Council } from './council.ts';
import { waitForResponses } from './wait-for-responses.ts';

let room: CouncilRoom;
let alice: Council;
let bob: Council;

beforeEach(async () => {
  room = openCouncilRoom();
  alice = room.server(1);
  bob = room.server(2);
  await alice.start('alice', 'Which language?');
});

const longMs = 60_000;

/** A wait of bob; `begun` resolves once nothing new was there. */
function wait(
  timeoutMs = longMs,
  cursor: string | null = null,
  signal = new AbortController().signal
) {
  let tell: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const options = { agentName: 'bob', cursor, timeoutMs, signal, onWait: tell };
  const ended = waitForResponses(bob, room.store, options, whole);
  return { begun, ended };
}

const contents = async ({ ended }: ReturnType<typeof wait>) =>
  (await ended).answer.responses.map(({ content }) => content);

test('a wait ends at once with what is there already', async () => {
  await alice.send('alice', 'First.');
  const waiting = wait();
  expect(await contents(waiting)).toEqual(['First.']);
  expect((await waiting.ended).isTimeout).toBe(false);
});

test('a wait ends with the words of another agent', async () => {
  const waiting = wait();
  await waiting.begun;
  await alice.send('alice', 'First.');
  expect(await contents(waiting)).toEqual(['First.']);
  expect((await waiting.ended).isTimeout).toBe(false);
});

test('own words alone end no wait, but come with those of others', async () => {
  await bob.send('bob', 'Mine.');
  const waiting = wait();
  await waiting.begun;
  await bob.send('bob', 'Mine again.');
  await alice.send('alice', 'First.');
  expect(await contents(waiting)).toEqual(['Mine.', 'Mine again.', 'First.']);
});

test('a wait goes on from the last answer that was received', async () => {
  await alice.send('alice', 'First.');
  await (await wait().ended).markRead();
  const waiting = wait();
  await waiting.begun;
  await alice.send('alice', 'Second.');
  expect(await contents(waiting)).toEqual(['Second.']);
});

test('a wait ends with the conclusion', async () => {
  const waiting = wait();
  await waiting.begun;
  await alice.close('alice', 'Settled.');
  const { answer, isTimeout } = await waiting.ended;
  expect(answer.session.conclusion?.content).toBe('Settled.');
  expect(isTimeout).toBe(false);
});

test('a wait for a closed session ends at once', async () => {
  await alice.close('alice', 'Settled.');
  expect((await wait().ended).isTimeout).toBe(false);
});

test('a wait whose time is up says so, and its answer can be marked', async () => {
  const { answer, isTimeout, markRead } = await wait(0).ended;
  expect(isTimeout).toBe(true);
  expect(answer.responses).toEqual([]);
  await markRead();
  expect(room.participant('bob')?.last_request_seen).toBe(answer.request.id);
});

test('a canceled wait marks nothing as read', async () => {
  const controller = new AbortController();
  const waiting = wait(longMs, null, controller.signal);
  await waiting.begun;
  controller.abort();
  const { isTimeout, markRead } = await waiting.ended;
  expect(isTimeout).toBe(true);
  await markRead();
  expect(room.participant('bob')?.last_request_seen).toBeNull();
});

test('a wait that was canceled before it began takes no response', async () => {
  await alice.send('alice', 'First.');
  const { markRead } = await wait(longMs, null, AbortSignal.abort()).ended;
  await markRead();
  expect(room.participant('bob')?.last_feedback_seen).toBeNull();
  expect(await contents(wait())).toEqual(['First.']);
});

test('a wait fails when another session is started meanwhile', async () => {
  const waiting = wait();
  await waiting.begun;
  const failed = expect(waiting.ended).rejects.toMatchObject({
    code: 'session_replaced'
  });
  await alice.start('alice', 'Which name?');
  await failed;
});

test('a wait fails even if its agent has joined the new session meanwhile', async () => {
  const waiting = wait();
  await waiting.begun;
  const failed = expect(waiting.ended).rejects.toMatchObject({
    code: 'session_replaced'
  });
  await Promise.all([
    alice.start('alice', 'Which name?'),
    bob.join('bob', whole)
  ]);
  await failed;
});

test('a wait from an unknown cursor is refused', async () => {
  await expect(wait(longMs, 'x').ended).rejects.toMatchObject({
    code: 'unknown_cursor'
  });
});

test('a wait after a cursor is not ended by responses before it', async () => {
  const { response } = await alice.send('alice', 'First.');
  const waiting = wait(longMs, response.id);
  await waiting.begun;
  await alice.send('alice', 'Second.');
  expect(await contents(waiting)).toEqual(['Second.']);
});

test('two waits of one agent both get what comes', async () => {
  const waits = [wait(), wait()];
  await Promise.all(waits.map(({ begun }) => begun));
  await alice.send('alice', 'First.');
  for (const waiting of waits)
    expect(await contents(waiting)).toEqual(['First.']);
});
