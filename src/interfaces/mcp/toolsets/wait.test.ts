import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../../test/kit/agents/made-up-agents.ts';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import {
  type HostHere,
  hostHere
} from '../../../../test/kit/servers/host-here.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import { SquadStore } from '../../../core/squads/squad-store.ts';
import { waitTool } from './wait.ts';

const [one, two, three] = [idOf(1), idOf(2), idOf(3)];
const caller = { client: 'a client', session: 's1' };

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

function agent(agent_id: string, made: Partial<MadeUp> = {}): string {
  const all = { agent_id, daysAgo: 1, isOpen: true, ...made };
  return makeUp(here.workspace.record, all);
}

const queued = (id: string, made: Partial<MadeUp> = {}) =>
  agent(id, { daysAgo: null, ...made });

/** The facts of an answer, after which the client has read it. */
async function wait(input: Record<string, unknown> = {}) {
  const work: (() => void | Promise<void>)[] = [];
  const { structuredContent, content, isError } = await waitTool(
    here.host
  ).call(
    { timeout: 0, ...input },
    callContext({ caller, afterAnswer: (one) => work.push(one) })
  );
  for (const one of work) await one();
  const facts = Object(structuredContent);
  return isError ? { error: content[0]?.text } : facts;
}

describe('a wait for named agents', () => {
  test('gives the answers of all, which then count as read', async () => {
    agent(one, { text: 'first' });
    const directory = agent(two, { outcome: { status: 'failed', error: 'x' } });
    const facts = await wait({ agent_ids: [one, two] });
    expect(facts).toMatchObject({
      status: 'all_completed',
      results: [
        { agent_id: one, result: 'first' },
        { agent_id: two, status: 'failed', error: 'x' }
      ]
    });
    for (const name of ['lost', 'message', 'squadId', 'others_running'])
      expect(facts).not.toHaveProperty(name);
    expect(wasRead(directory)).toBe(true);
  });

  test('has a next step when the time is up', async () => {
    agent(one);
    queued(two);
    expect(await wait({ agent_ids: [one, two] })).toMatchObject({
      ...{ status: 'timeout', still_running: [two] },
      message: expect.stringContaining('with still_running as agent_ids'),
      completed_results: [{ agent_id: one }]
    });
  });

  test('is over with the first one, if it may be any', async () => {
    agent(one);
    queued(two);
    const any = { agent_ids: [two, one], mode: 'any', timeout: 60 };
    expect(await wait(any)).toMatchObject({
      ...{ status: 'any_completed', still_running: [two] }
    });
  });

  test('names an agent whose record cannot be believed, with the others', async () => {
    writeFileSync(join(agent(one), 'outcome.json'), '{}');
    agent(two);
    const { results } = await wait({ agent_ids: [one, two] });
    expect(results).toMatchObject([
      { agent_id: two },
      {
        ...{ agent_id: one, error_code: 'state_invalid' },
        hint: expect.any(String)
      }
    ]);
  });

  test('is refused for an unknown agent', async () => {
    agent(one);
    const { error } = await wait({ agent_ids: [one, two] });
    expect(error).toContain(two);
  });
});

describe('a wait without ids', () => {
  test('is for the agents of the client, and counts the others', async () => {
    const owner = here.host.processes.self;
    queued(one, { caller, owner });
    queued(two, { owner });
    expect(await wait()).toMatchObject({
      ...{ status: 'timeout', still_running: [one], others_running: 1 }
    });
    const all = await wait({ scope: 'workspace' });
    expect(all.still_running).toHaveLength(2);
    expect(all).not.toHaveProperty('others_running');
  });

  test('says that none is running, and what ended last', async () => {
    expect(await wait()).toMatchObject({
      ...{ status: 'no_agents_running', others_running: 0 },
      message: expect.stringMatching(/^No agent is running\./)
    });
    queued(two);
    agent(three);
    expect(await wait()).toMatchObject({
      message: expect.stringMatching(/^No agent of yours .* Others have 1 at/),
      recent_results: [{ agent_id: three }]
    });
  });
});

describe('a wait for a squad', () => {
  const squadId = 'squad-00000001';

  beforeEach(() => {
    const member = { roleId: 'r', cwd: '.' };
    new SquadStore(here.workspace.record).create({
      ...{ v: 1, squadId, created_at: 'x', stateMode: 'stateless' },
      members: [
        { ...member, memberId: 'a', agentId: one },
        { ...member, memberId: 'b', agentId: two }
      ]
    });
  });

  const squad = { squadId, memberId: 'a', roleId: 'r' };

  test('is for its members', async () => {
    agent(one, { squad });
    queued(two, { squad });
    const facts = await wait({ squadId });
    expect(facts).toMatchObject({
      ...{ status: 'timeout', squadId, still_running: [two] },
      message: expect.stringContaining('with the same squadId')
    });
    expect(facts.message).not.toContain('never started');
  });

  test('names the number of members that are missing', async () => {
    agent(one, { squad });
    expect(await wait({ squadId })).toMatchObject({
      ...{ status: 'all_completed', results: [{ agent_id: one }] },
      message: '1 members of that squad never started, or were cleaned away.'
    });
  });
});
