import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../test/kit/agents/made-up-agents.ts';
import { type Random, seededRandom } from '../../../test/kit/judges/random.ts';
import { createLog } from '../../../test/kit/servers/logged-agents.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { RunStore } from '../runs/run-store.ts';
import { SquadStore } from '../squads/squad-store.ts';
import { bytesBelow } from '../state/files/directories.ts';
import { applyPolicy } from './clean.ts';
import type { Policy } from './select.ts';

const random = seededRandom('retention of random populations');
const rounds = Number(process.env.TROUPE_CLEAN_ROUNDS) || 25;
const dayMs = 86_400_000;

/** An agent, with the facts that the rules use. */
interface RandomAgent extends MadeUp {
  hasTree: boolean;
  isSummoned: boolean;
}

function oneOf<Item>(items: Item[], { between }: Random): Item | undefined {
  return items[between(0, items.length - 1)];
}

function randomAgents(path: string): RandomAgent[] {
  const { next, between } = random;
  const agents: RandomAgent[] = [];
  const count = between(0, 18);
  for (let number = 1; number <= count; number += 1) {
    const agent_id = idOf(number);
    const kind = next() < 0.4 ? 'api' : 'cli';
    const same = agents.filter((one) => one.kind === kind);
    const before = next() < 0.5 ? oneOf(same, random) : undefined;
    const session = before?.session_id ?? (kind === 'api' ? agent_id : null);
    const squad = next() < 0.3 ? `squad-0000000${between(1, 3)}` : undefined;
    const hasTree = kind === 'cli' && next() < 0.15;
    const tree = join(path, '.agents/worktrees', agent_id);
    agents.push({
      agent_id,
      kind,
      hasTree,
      isSummoned: next() < 0.05,
      daysAgo: next() < 0.15 ? null : between(-5, 40) + next() / 2,
      isOpen: next() < 0.08,
      read: next() < 0.75,
      bytes: between(0, 5000),
      continues: before?.agent_id ?? null,
      session_id: session,
      ...(session === null && next() < 0.5
        ? {
            new_session_id: `told-${agent_id}`,
            toldSession: `told-${agent_id}`
          }
        : session === null
          ? {}
          : { toldSession: session }),
      ...(squad
        ? { squad: { squadId: squad, memberId: 'm', roleId: 'r' } }
        : {}),
      ...(hasTree || next() < 0.1
        ? { worktree: { path: tree, branch: 'b', base: 'c', origin: path } }
        : {}),
      ...(next() < 0.2 ? { patch: `patch of ${agent_id}` } : {})
    });
  }
  return agents;
}

function createAgents(agents: RandomAgent[], record: string): void {
  for (const one of agents) {
    const { hasTree, isSummoned, ...agent } = one;
    makeUp(record, agent);
    if (hasTree && one.worktree)
      mkdirSync(one.worktree.path, { recursive: true });
    mkdirSync(join(record, 'summons'), { recursive: true });
    if (isSummoned)
      writeFileSync(
        join(record, 'summons', one.agent_id),
        JSON.stringify({
          agent_id: one.agent_id,
          state: '/council.json',
          owner: { pid: 1, start: '', place: '' }
        })
      );
  }
  const squads = new SquadStore(record);
  for (const id of new Set(agents.flatMap(({ squad }) => squad?.squadId ?? [])))
    squads.create({
      v: 1,
      squadId: id,
      created_at: '2026-01-01T00:00:00.000Z',
      stateMode: 'stateless',
      members: agents
        .filter(({ squad }) => squad?.squadId === id)
        .map(({ agent_id: agentId }) => ({
          ...{ agentId, memberId: 'm', roleId: 'r', cwd: '.' }
        }))
    });
}

/** A second, short implementation of the rules. */
function expectedRemovals(
  agents: RandomAgent[],
  sizes: Map<string, number>,
  policy: Policy
) {
  const isOver = (one: RandomAgent) => one.daysAgo !== null && !one.isOpen;
  const busy = agents.filter((one) => !isOver(one));
  const sameSession = (one: RandomAgent, other: RandomAgent) =>
    one.toldSession !== undefined &&
    [other.toldSession, other.session_id].includes(one.toldSession);
  const isFree = (one: RandomAgent) =>
    isOver(one) &&
    one.read &&
    !one.hasTree &&
    !one.isSummoned &&
    !busy.some(
      (other) =>
        (one.squad && other.squad?.squadId === one.squad.squadId) ||
        other.continues === one.agent_id ||
        sameSession(one, other)
    );
  const ageOf = ({ daysAgo }: RandomAgent) =>
    daysAgo === null ? -1 : Math.max(0, daysAgo) * dayMs;
  const youngest = agents
    .filter(({ daysAgo }) => daysAgo !== null)
    .sort((a, b) => ageOf(a) - ageOf(b) || (a.agent_id < b.agent_id ? -1 : 1))
    .slice(0, policy.keep ?? 0);
  const groupOf = (one: RandomAgent) =>
    one.kind === 'api'
      ? agents.filter(
          ({ kind, session_id }) =>
            kind === 'api' && session_id === one.session_id
        )
      : [one];
  const groups = [
    ...new Map(
      agents.map((one) => {
        const group = groupOf(one);
        return [group.map(({ agent_id }) => agent_id).join(), group] as const;
      })
    ).values()
  ]
    .filter((group) =>
      group.every((one) => isFree(one) && !youngest.includes(one))
    )
    .map((group) => ({ group, age: Math.min(...group.map(ageOf)) }))
    .sort((a, b) => b.age - a.age);
  const weight = (group: RandomAgent[]) =>
    group.reduce((sum, { agent_id }) => sum + (sizes.get(agent_id) ?? 0), 0);
  let left = weight(agents);
  const gone: RandomAgent[] = [];
  const { olderThanMs: old, maximumBytes: most, keep } = policy;
  const go = (group: RandomAgent[]) => {
    gone.push(...group);
    left -= weight(group);
  };
  for (const { group, age } of groups)
    if (old === undefined && most === undefined)
      keep !== undefined && go(group);
    else if (old !== undefined && age >= old) go(group);
  if (most !== undefined)
    for (const { group } of groups)
      if (left > most && !gone.some((one) => group.includes(one))) go(group);
  return gone.map(({ agent_id }) => agent_id).sort();
}

function randomPolicy(): Policy {
  const { next, between } = random;
  return {
    ...(next() < 0.6 ? { olderThanMs: between(0, 40) * dayMs } : {}),
    ...(next() < 0.4 ? { keep: between(0, 6) } : {}),
    ...(next() < 0.5 ? { maximumBytes: between(0, 40_000) } : {})
  };
}

test('a clean removes exactly what the rules say, and a second one nothing', async () => {
  let removals = 0;
  for (let round = 0; round < rounds; round += 1) {
    const log = createLog();
    const { path, record } = log.workspace;
    const store = new RunStore(record);
    const agents = randomAgents(path);
    createAgents(agents, record);
    const sizes = new Map(
      agents.map(({ agent_id }) => [
        agent_id,
        bytesBelow(store.directoryOf(agent_id))
      ])
    );
    const policy = randomPolicy();
    const expected = expectedRemovals(agents, sizes, policy);
    const clean = async () => {
      const problems: string[] = [];
      const removed = await applyPolicy(policy, {
        store,
        journal: log.journal,
        processes: createProcesses('dist'),
        onProblem: (problem) => problems.push(problem)
      });
      expect(problems).toEqual([]);
      return removed.map(({ agentId }) => agentId).sort();
    };
    const what = JSON.stringify({ seed: random.seed, round, policy });
    expect(await clean(), what).toEqual(expected);
    expect(await clean(), what).toEqual([]);
    const there = agents
      .map(({ agent_id }) => agent_id)
      .filter((id) => !expected.includes(id));
    const spawns = join(record, 'spawns');
    expect(existsSync(spawns) ? readdirSync(spawns) : []).toEqual(there);
    for (const { agent_id, patch } of agents) {
      const isKept = patch === undefined || there.includes(agent_id);
      const diff = join(record, 'diffs', `${agent_id}.diff`);
      expect(existsSync(diff), what).toBe(!isKept);
      expect(store.sizes.goneAt(agent_id) === undefined, what).toBe(
        there.includes(agent_id)
      );
    }
    removals += expected.length;
    log.workspace.remove();
  }
  // Otherwise the test would prove nothing.
  expect(removals).toBeGreaterThan(rounds / 2);
});
