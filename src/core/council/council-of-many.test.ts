import { beforeEach, expect, test } from 'vitest';
import {
  type CouncilRoom,
  openCouncilRoom,
  whole
} from '../../../test/kit/servers/council-room.ts';
import {
  openCouncil,
  participantOf,
  processOf,
  responseOf,
  witnessesOf
} from '../../../test/kit/servers/council-states.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { Council } from './council.ts';
import { CouncilStore } from './council-store.ts';
import { StateFile } from './state-file.ts';

const many = 350;
const names = Array.from({ length: many }, (_, index) => `agent-${index}`);

let room: CouncilRoom;

/** A session of 350 agents, each of a server of its own, with a response. */
beforeEach(async () => {
  room = openCouncilRoom();
  await room.put(
    openCouncil({
      participants: names.map((name, index) =>
        participantOf(name, {
          last_request_seen: 'q1',
          last_feedback_seen: index === 0 ? null : `r${index - 1}`,
          owner: processOf(index)
        })
      ),
      feedback: names.map((name, index) => responseOf(`r${index}`, name))
    })
  );
});

test('a file of 350 participants is read whole by another process', () => {
  const file = new StateFile(room.store.file.path);
  const state = file.read();
  file.close();
  expect(state).toEqual(room.state());
  expect(state.participants.map(({ agent_name }) => agent_name)).toEqual(names);
});

test('each of 350 participants goes on from its own cursor', async () => {
  for (const index of [0, 1, 174, 349]) {
    const name = `agent-${index}`;
    const council = room.server(index);
    const read = await council.readIf(name, null, () => true, whole);
    if (!('answer' in read)) throw new Error('It was not wanted.');
    const { responses, participants, counts } = read.answer;
    expect(responses).toHaveLength(many - index);
    expect(participants).toHaveLength(many);
    expect(counts.size).toBe(many);
    await read.markRead();
    expect(room.participant(name)?.last_feedback_seen).toBe('r349');
  }
  expect(room.participant('agent-2')?.last_feedback_seen).toBe('r1');
});

test('one that joins 350 others is the last of them, and loses nobody', async () => {
  const sent = await room.server(many).send('newcomer', 'Me, too.');
  expect(sent).toMatchObject({ participants: 351, responses: 351 });
  const { participants } = room.state();
  expect(participants.map(({ agent_name }) => agent_name)).toEqual([
    ...names,
    'newcomer'
  ]);
});

test('350 participants of a replaced session are all former ones', async () => {
  const { agentName } = await room.server(7).start('agent-7', 'Next?');
  expect(agentName).toBe('agent-7');
  const { participants, former_participants: formers } = room.state();
  expect(participants).toHaveLength(1);
  const others = names.filter((name) => name !== 'agent-7');
  expect(formers?.map(({ agent_name }) => agent_name)).toEqual(others);
  for (const index of [0, 6, 8, 349]) {
    const council = room.server(index);
    await expect(council.send(`agent-${index}`, 'Late.')).rejects.toMatchObject(
      { code: 'session_replaced' }
    );
    const { answer } = await council.join(`agent-${index}`, whole);
    expect(answer.agentName).toBe(`agent-${index}`);
  }
  expect(room.state().former_participants).toHaveLength(345);
  expect(room.state().participants).toHaveLength(5);
});

test('350 responses at once through several stores are all recorded', async () => {
  const stores = [1, 2, 3].map(
    () => new CouncilStore(room.store.file.path, createProcesses(''))
  );
  const sent = await Promise.all(
    names.map((name, index) => {
      const store = stores[index % 3] ?? room.store;
      const council = new Council({ store, witnesses: witnessesOf(index) });
      return council.send(name, `Again ${index}.`);
    })
  );
  for (const store of stores) store.close();
  const file = new StateFile(room.store.file.path);
  const { feedback, participants } = file.read();
  file.close();
  expect(participants).toHaveLength(many);
  const ids = feedback.slice(many).map(({ id }) => id);
  expect(ids.toSorted()).toEqual(
    sent.map(({ response }) => response.id).toSorted()
  );
  expect(Math.max(...sent.map(({ responses }) => responses))).toBe(700);
}, 30_000);
