import { renameSync, rmSync } from 'node:fs';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  type CouncilRoom,
  openCouncilRoom,
  whole
} from '../../../test/kit/servers/council-room.ts';
import { witnessesOf } from '../../../test/kit/servers/council-states.ts';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import type { Outcome } from '../runs/run.ts';
import { RunStore } from '../runs/run-store.ts';
import { writeNew } from '../state/files/atomic-file.ts';
import { nameFor } from './attendance.ts';
import type { Council } from './council.ts';
import { SummonMarks } from './summon-marks.ts';
import { type SummonRequest, Summons } from './summons.ts';

let room: CouncilRoom;
let runs: RunStore;
/** The server that summons, and another one. */
let alice: Council;
let bob: Council;
let summons: Summons;
let prompts: string[];
let problems: unknown[];

beforeEach(async () => {
  room = openCouncilRoom();
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  runs = new RunStore(workspace.record);
  alice = room.server(1);
  bob = room.server(2);
  [prompts, problems] = [[], []];
  summons = summonsOf(1);
  await alice.start('alice', 'Which language?');
});

function summonsOf(pid: number, dead: number[] = []): Summons {
  return new Summons({
    council: room.store,
    storeAt: () => room.store,
    witnesses: witnessesOf(pid, dead),
    workspace: '/w',
    runs,
    tracker: {
      run: async (id) => {
        const record = runs.recordOf(id);
        const outcome = runs.outcomeOf(id);
        if (!record) return undefined;
        return outcome
          ? { record, outcome, status: outcome.status }
          : { record, status: 'running' };
      }
    },
    spawn: async ({ agentId = '', prompt }) => {
      prompts.push(prompt);
      const record = recordWith({ agent_id: agentId });
      runs.create(record, prompt, prompt);
      return { record, status: 'running', repeated: false };
    },
    onProblem: (problem) => problems.push(problem)
  });
}

const summon = (request: Partial<SummonRequest> = {}) =>
  summons.summon({ engine: 'oracle', ...request });

type Ending = Partial<Outcome>;

function finish(agentId: string, answer: string, ending: Ending = {}): void {
  const result_chars = answer.length;
  writeNew(`${runs.directoryOf(agentId)}/result.txt`, answer);
  runs.end(agentId, outcomeWith({ result_chars, ...ending }));
}

/** Ends an agent, whose answer is then collected. */
async function end(
  agentId: string,
  answer: string,
  ending: Ending = {}
): Promise<void> {
  finish(agentId, answer, ending);
  await summons.collectAnswers();
}

async function seenBy(council: Council, name: string) {
  const { answer, markRead } = await council.join(name, whole);
  await markRead();
  return answer.summons.map(({ agent_id, status }) => ({ agent_id, status }));
}

const marks = () => new SummonMarks(runs.root).all();

describe('an agent that is at work', () => {
  test('is a participant of the session and is told the discussion', async () => {
    await alice.send('alice', 'This one, I think.');
    const { agentId, agentName, session } = await summon();
    expect(agentName).toBe('oracle');
    expect(room.state().summons).toMatchObject([
      {
        agent_id: agentId,
        status: 'running',
        session_id: session.id,
        request_id: session.current_request_id
      }
    ]);
    expect(room.participant('oracle')).toMatchObject({
      agent_id: agentId,
      last_feedback_seen: room.state().feedback[0]?.id
    });
    expect(prompts[0]).toContain('Which language?');
    expect(prompts[0]).toContain('This one, I think.');
    const running = [{ agent_id: agentId, status: 'running' }];
    expect(await seenBy(alice, 'alice')).toEqual(running);
    expect(await seenBy(bob, 'bob')).toEqual(running);
    expect(marks()).toMatchObject([{ agent_id: agentId, started: true }]);
  });

  test('has its answer recorded once, at its end, by whichever server', async () => {
    const { agentId } = await summon();
    await summons.collectAnswers();
    expect(room.state().feedback).toEqual([]);
    const later = summonsOf(3, [1]);
    finish(agentId, 'This one.');
    await Promise.all([summons.collectAnswers(), later.collectAnswers()]);
    expect(room.state().feedback).toMatchObject([
      { author: 'oracle', content: 'This one.' }
    ]);
    expect(room.state().summons).toMatchObject([{ status: 'completed' }]);
    expect(await seenBy(alice, 'alice')).toEqual([]);
    expect(marks()).toEqual([]);
    expect(problems).toEqual([]);
  });
});

describe('an agent whose session is replaced', () => {
  test('stays in the file while it is at work, and those that ended do not', async () => {
    const { agentId: answered } = await summon();
    await end(answered, 'This one.');
    const { agentId: failed } = await summon();
    await end(failed, '', { status: 'failed', error: 'No.' });
    const { agentId: open, session } = await summon();
    expect(room.state().summons).toHaveLength(3);
    await alice.start('alice', 'Which name?');
    expect(room.state().summons).toMatchObject([
      { agent_id: open, status: 'running', session_id: session.id }
    ]);
    expect(room.participant('oracle')).toBeUndefined();
  });

  test('is late to the server that summoned it, once, and unknown to others', async () => {
    const { agentId } = await summon();
    await alice.start('alice', 'Which name?');
    expect(await seenBy(bob, 'bob')).toEqual([]);
    expect(await seenBy(alice, 'alice')).toEqual([
      { agent_id: agentId, status: 'late' }
    ]);
    expect(await seenBy(alice, 'alice')).toEqual([]);
    expect(await seenBy(alice, 'amy')).toEqual([
      { agent_id: agentId, status: 'late' }
    ]);
  });

  test('is late with the session that it was summoned to', async () => {
    const { agentId, session } = await summon();
    await alice.start('alice', 'Which name?');
    const { answer } = await alice.join('alice', whole);
    expect(answer.summons).toMatchObject([
      {
        agent_id: agentId,
        status: 'late',
        session_id: session.id,
        error_code: 'council_closed'
      }
    ]);
  });

  test('is late until an answer that says so was received', async () => {
    const { agentId } = await summon();
    await alice.start('alice', 'Which name?');
    const late = [{ agent_id: agentId, status: 'late' }];
    const { answer } = await alice.join('alice', whole);
    expect(answer.summons).toMatchObject(late);
    expect(await seenBy(alice, 'alice')).toEqual(late);
    expect(await seenBy(alice, 'alice')).toEqual([]);
  });

  test('keeps its name from later ones until it has ended', async () => {
    const { agentId } = await summon();
    await alice.start('alice', 'Which name?');
    expect((await summon()).agentName).toBe('oracle#2');
    await end(agentId, 'This one.');
    await alice.start('alice', 'Which folder?');
    expect((await summon()).agentName).toBe('oracle');
  });

  test('has no answer recorded in the new session', async () => {
    const { agentId } = await summon();
    await alice.start('alice', 'Which name?');
    await end(agentId, 'This one.');
    expect(room.state().feedback).toEqual([]);
    expect(room.state().summons).toMatchObject([
      { agent_id: agentId, status: 'failed', error_code: 'council_closed' }
    ]);
    expect(marks()).toEqual([]);
    await alice.start('alice', 'Which folder?');
    expect(room.state().summons).toEqual([]);
  });
});

test('an answer to a session that was closed meanwhile is not recorded', async () => {
  const { agentId } = await summon();
  await alice.close('alice', 'Settled.');
  const before = room.state();
  await end(agentId, 'This one.');
  expect(room.state().feedback).toEqual([]);
  expect(room.state().session).toEqual(before.session);
  expect(room.state().summons).toMatchObject([
    { status: 'failed', error_code: 'council_closed' }
  ]);
});

test.each([
  ['', {}, 'It ended without an answer.', undefined],
  [' \n', {}, 'It ended without an answer.', undefined],
  ['Half.', { status: 'failed' }, 'It ended as failed.', 'failed'],
  ['', { status: 'timeout', error: 'Slow.' }, 'Slow.', 'timeout'],
  ['', { status: 'failed', error: 'No.', error_code: 'auth' }, 'No.', 'auth']
] as const)(
  'an agent that said %j and ended with %j gives no response',
  async (answer, outcome, error, error_code) => {
    const { agentId } = await summon();
    await end(agentId, answer, outcome);
    expect(room.state().feedback).toEqual([]);
    const [ended] = room.state().summons ?? [];
    expect(ended).toMatchObject({ status: 'failed', error });
    expect(ended?.error_code).toBe(error_code);
    const failed = [{ agent_id: agentId, status: 'failed' }];
    expect(await seenBy(alice, 'alice')).toEqual(failed);
    expect(await seenBy(bob, 'bob')).toEqual([]);
  }
);

test('an agent whose folder was removed has failed', async () => {
  const { agentId } = await summon();
  rmSync(runs.directoryOf(agentId), { recursive: true });
  await summons.collectAnswers();
  expect(room.state().summons).toMatchObject([
    { status: 'failed', error: expect.stringContaining('was removed') }
  ]);
  expect(marks()).toEqual([]);
});

test('an answer of more than a million characters is cut, and its file is named', async () => {
  const { agentId } = await summon();
  const answer = `${'x'.repeat(999_999)}yz`;
  await end(agentId, answer);
  const [response] = room.state().feedback;
  const path = `${runs.directoryOf(agentId)}/result.txt`;
  expect(response?.content).toHaveLength(1_000_000 + path.length + 11);
  expect(response?.content.slice(999_998)).toBe(`xy\n\n… [cut: ${path}]`);
});

test('the name of a summoned agent is shared with no server', async () => {
  await summon({ agentName: 'bob' });
  expect(nameFor('bob', room.state(), witnessesOf(2))).toBe('bob#2');
  expect((await bob.join('bob', whole)).answer.agentName).toBe('bob#2');
  expect((await summon({ agentName: 'bob' })).agentName).toBe('bob#3');
});

test.each([
  ['without a council', 'no_council'],
  ['to a closed council', 'council_closed']
])('a summons %s is refused, and no agent starts', async (_, code) => {
  if (code === 'council_closed') await alice.close('alice', 'Settled.');
  else {
    const { session: _session, ...rest } = room.state();
    await room.put({ ...rest, session: null });
  }
  const before = room.state();
  await expect(summon()).rejects.toMatchObject({ code });
  expect(room.state()).toEqual(before);
  expect(prompts).toEqual([]);
  expect(marks()).toEqual([]);
});

test('an answer waits for a council whose file is moved away', async () => {
  const { agentId } = await summon();
  const { path } = room.store.file;
  renameSync(path, `${path}.mine`);
  const completed_at = new Date().toISOString();
  await end(agentId, 'Rust', { completed_at });
  expect(marks()).toHaveLength(1);
  renameSync(`${path}.mine`, path);
  await summons.collectAnswers();
  expect(room.state().feedback).toMatchObject([{ content: 'Rust' }]);
  expect(marks()).toEqual([]);
});
