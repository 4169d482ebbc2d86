import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { encode } from '../../../src/core/council/state.ts';
import { done } from '../../kit/servers/council-calls.ts';
import { startCouncilServer } from '../../kit/servers/council-servers.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  councilSeen,
  createSummonStage,
  type SummonStage,
  summoned
} from '../../kit/workspaces/summon-stage.ts';

const spoken = { author: 'oracle', content: 'The oracle has spoken.' };

let stage: SummonStage;
let first: McpClient;

beforeEach(async () => {
  stage = createSummonStage();
  first = await stage.serve();
  const asked = { agent_name: 'alice', request: 'Which language?' };
  await done(first, 'start_council', asked);
});

afterEach(() => stage.close());

describe('the answer of an agent whose server was killed', () => {
  test('is recorded once, by a server that was there', async () => {
    const second = await stage.serve();
    stage.hold();
    await summoned(first);
    await stage.kill(first);
    const waiting = councilSeen(second, 'bob', 'wait_for_responses');
    stage.letGo();
    expect((await waiting).responses).toEqual([spoken]);
    await stage.marksAre();
    expect(stage.state().feedback).toMatchObject([spoken]);
  });

  test('is recorded once, by servers that come later', async () => {
    stage.hold();
    const { id } = await summoned(first);
    await stage.kill(first);
    stage.letGo();
    const later = await Promise.all([stage.serve(), stage.serve()]);
    expect(await stage.settled(id)).toMatchObject({ status: 'completed' });
    await stage.marksAre();
    for (const server of later)
      expect((await councilSeen(server, 'bob')).responses).toEqual([spoken]);
    expect(stage.state().feedback).toHaveLength(1);
  });

  test('is not expected by servers that cannot finish it', async () => {
    const elsewhere = await startCouncilServer(stage);
    stage.hold();
    const { id } = await summoned(first);
    await stage.kill(first);
    const seen = await councilSeen(elsewhere, 'carol');
    expect(seen.summons).toMatchObject([
      {
        agent_id: id,
        status: 'unknown',
        error: expect.stringContaining(stage.path)
      }
    ]);
    await elsewhere.close();
  });

  test('is reported as failed when it failed, to the next server', async () => {
    stage.answers('No idea.', 3);
    stage.hold();
    const { id } = await summoned(first);
    await stage.kill(first);
    stage.letGo();
    const second = await stage.serve();
    await stage.settled(id);
    expect((await councilSeen(second, 'bob')).summons).toMatchObject([
      { agent_id: id, status: 'failed' }
    ]);
    expect(stage.state().feedback).toEqual([]);
    await stage.marksAre();
  });
});

test('two servers that are there record each answer once', async () => {
  const second = await stage.serve();
  stage.hold();
  const agents = await Promise.all([
    ...[1, 2, 3].map(() => summoned(first)),
    ...[1, 2, 3].map(() => summoned(second))
  ]);
  const names = agents.map(({ name }) => name).sort();
  expect(new Set(names).size).toBe(6);
  stage.letGo();
  for (const { id } of agents) await stage.settled(id);
  await stage.marksAre();
  const { feedback } = stage.state();
  expect(feedback.map(({ author }) => author).sort()).toEqual(names);
});

describe('a server between its mark and the start of the agent', () => {
  /** What it leaves: its mark and, it may be, the seat of the agent. */
  function leaveBehind({ isSeated }: { isSeated: boolean }): string {
    const state = stage.state();
    const [request] = state.requests;
    const [owner] = state.participants.flatMap(({ owner }) => owner ?? []);
    if (!request || !owner || !state.session) throw new Error('No council.');
    const agent_id = 'feed0001';
    const marks = join(stage.record, 'summons');
    mkdirSync(marks, { recursive: true });
    const mark = { agent_id, state: stage.council, owner };
    writeFileSync(join(marks, agent_id), JSON.stringify(mark));
    if (!isSeated) return agent_id;
    const seat = {
      agent_name: 'oracle',
      last_seen: request.created_at,
      last_request_seen: request.id,
      last_feedback_seen: null,
      agent_id
    };
    const summon = {
      ...mark,
      agent_name: 'oracle',
      engine: 'oracle',
      session_id: state.session.id,
      request_id: request.id,
      workspace: stage.path,
      status: 'running' as const,
      created_at: request.created_at
    };
    const left = {
      ...state,
      participants: [...state.participants, seat],
      summons: [summon]
    };
    writeFileSync(stage.council, encode(left));
    return agent_id;
  }

  test('has summoned no agent when it is killed, which the next server reports', async () => {
    const agent_id = leaveBehind({ isSeated: true });
    await stage.kill(first);
    const second = await stage.serve();
    expect(await stage.settled(agent_id)).toMatchObject({ status: 'failed' });
    const { summons, responses } = await councilSeen(second, 'bob');
    expect(responses).toEqual([]);
    expect(summons).toMatchObject([
      {
        agent_id,
        status: 'failed',
        error: 'The server that summoned it ended before it started.'
      }
    ]);
    await stage.marksAre();
    expect(stage.asked()).toEqual([]);
  });

  test('has left nothing to report when it is killed before anything was recorded', async () => {
    leaveBehind({ isSeated: false });
    await stage.kill(first);
    const before = readFileSync(stage.council, 'utf8');
    await stage.serve();
    await stage.marksAre();
    expect(readFileSync(stage.council, 'utf8')).toBe(before);
  });

  test('may yet start it while it is there', async () => {
    const agent_id = leaveBehind({ isSeated: true });
    const second = await stage.serve();
    // After two agents, everything that was left before has been handled.
    for (const server of [second, second])
      await stage.settled((await summoned(server)).id);
    await stage.marksAre(agent_id);
    expect((await councilSeen(second, 'bob')).summons).toMatchObject([
      { agent_id, status: 'running' }
    ]);
  });
});
