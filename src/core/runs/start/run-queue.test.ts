import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { Engine } from '../../../plugin/plugin.ts';
import { RunStore } from '../run-store.ts';
import type { Earlier, Waiting } from '../spawn-request.ts';
import { RunQueue } from './run-queue.ts';

let workspace: TempWorkspace;
let store: RunStore;
let queue: RunQueue;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
  queue = new RunQueue(store);
});
afterEach(() => workspace.remove());

const engine: Engine = {
  kind: 'cli',
  name: 'x',
  description: '',
  command: 'x',
  args: () => []
};

/** Puts a run on disk and into the queue. */
function add(
  agent_id: string,
  after: Earlier[] = [],
  kind: 'cli' | 'api' = 'cli',
  more: { engine?: string; isAgents?: boolean; number?: number } = {}
) {
  const { engine: name = 'x', isAgents, number = 0 } = more;
  const record = recordWith({ agent_id, kind, engine: name });
  const { access } = record;
  store.create(record, 'x', 'x');
  const request = { prompt: 'x', access, cwd: '/', asRoot: false };
  queue.add({ record, engine, request, after, isAgents, number });
}

function end(agentId: string): void {
  store.end(agentId, outcomeWith());
}

function idOf(next: Waiting | number | undefined): unknown {
  return typeof next === 'object' ? next.record.agent_id : next;
}

const [a, b, c] = ['aaaaaaaa', 'bbbbbbbb', 'cccccccc'] as const;
const gone = '00000000';

test('runs of each kind leave the queue in the order of their spawns', () => {
  add(a);
  add(b, [], 'api');
  add(c);
  expect(idOf(queue.next('cli'))).toBe(a);
  expect(idOf(queue.next('api'))).toBe(b);
  expect(queue.drop(a)?.record.agent_id).toBe(a);
  expect(idOf(queue.next('cli'))).toBe(c);
  expect(queue.drop(a)).toBeUndefined();
  expect([queue.has(a), queue.has(b)]).toEqual([false, true]);
  expect(queue.dropAll().map(idOf)).toEqual([b, c]);
  expect(queue.next('cli')).toBeUndefined();
});

test('runs that are put back take their former places', () => {
  const number = { [a]: 1, [b]: 2, [c]: 3 };
  for (const id of [a, b, c]) add(id, [], 'cli', { number: number[id] });
  const [first, second] = [queue.drop(a), queue.drop(b)];
  if (!first || !second) throw new Error('They are not queued.');
  queue.putBack(second);
  queue.putBack(first);
  expect(queue.records().map((one) => one.agent_id)).toEqual([a, b, c]);
  expect(idOf(queue.next('cli'))).toBe(a);
});

describe('a run that comes after another', () => {
  test('lets runs behind it overtake, and starts when the other has ended', () => {
    add(a);
    queue.drop(a);
    add(b, [{ agentId: a, delayMs: 0 }]);
    add(c);
    expect(idOf(queue.next('cli'))).toBe(c);
    queue.drop(c);
    // The passing of time alone starts no run.
    expect(queue.next('cli')).toBeUndefined();
    end(a);
    expect(idOf(queue.next('cli'))).toBe(b);
  });

  test('starts even when the outcome of the other is unreadable', () => {
    const outcome = (id: string) => join(store.directoryOf(id), 'outcome.json');
    for (const id of [a, b]) add(id);
    for (const id of [a, b]) queue.drop(id);
    add(c, [{ agentId: a, delayMs: 0 }]);
    writeFileSync(outcome(a), '{"v":1,"sta');
    expect(idOf(queue.next('cli'))).toBe(c);
    queue.drop(c);
    add(c, [{ agentId: b, delayMs: 0 }]);
    mkdirSync(outcome(b));
    expect(idOf(queue.next('cli'))).toBe(c);
  });

  test('waits for all runs that it comes after', () => {
    for (const id of [a, b]) add(id);
    for (const id of [a, b]) queue.drop(id);
    add(
      c,
      [a, b].map((agentId) => ({ agentId, delayMs: 0 }))
    );
    end(b);
    expect(queue.next('cli')).toBeUndefined();
    end(a);
    expect(idOf(queue.next('cli'))).toBe(c);
  });

  test('starts after its delay, counted from the end of the other', async () => {
    add(a);
    queue.drop(a);
    add(b, [{ agentId: a, delayMs: 60_000 }]);
    add(c, [{ agentId: a, delayMs: 50 }]);
    expect(queue.next('cli')).toBeUndefined();
    end(a);
    const rest = queue.next('cli');
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThanOrEqual(50);
    await until('the pause', () => idOf(queue.next('cli')) === c);
    queue.drop(c);
    expect(queue.next('cli')).toBeGreaterThan(1000);
  });

  test('waits for an announced run for a limited time', () => {
    add(a, [{ agentId: gone, delayMs: 0 }]);
    const rest = queue.next('cli');
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThanOrEqual(10_000);
    store.create(recordWith({ agent_id: gone }), 'x', 'x');
    expect(queue.next('cli')).toBeUndefined();
    end(gone);
    expect(idOf(queue.next('cli'))).toBe(a);
  });
});

/** Counts how often a run is looked up on disk. */
class WatchedStore extends RunStore {
  lookups = 0;
  override has(agentId: string): boolean {
    this.lookups += 1;
    return super.has(agentId);
  }
}

test('in a long chain of ended runs, each run is read once', () => {
  const watched = new WatchedStore(workspace.record);
  store = watched;
  queue = new RunQueue(store);
  const ids = Array.from({ length: 20 }, (_, n) => `000000${n + 10}`);
  for (const [index, id] of ids.entries())
    add(
      id,
      ids
        .slice(0, index)
        .reverse()
        .map((agentId) => ({ agentId, delayMs: 0 }))
    );
  for (const id of ids) queue.drop(id);
  for (const id of ids.slice(1)) end(id);
  add(
    a,
    [...ids].reverse().map((agentId) => ({ agentId, delayMs: 0 }))
  );
  watched.lookups = 0;
  expect(queue.next('cli')).toBeUndefined();
  expect(watched.lookups).toBeLessThanOrEqual(ids.length);
  end(ids[0] ?? '');
  expect(idOf(queue.next('cli'))).toBe(a);
  expect(watched.lookups).toBeLessThanOrEqual(ids.length * ids.length);
});

test('runs of other engines overtake an engine at its limit', () => {
  add(a, [], 'cli', { engine: 'taken' });
  add(b, [], 'cli', { engine: 'other' });
  add(c, [], 'cli', { engine: 'taken' });
  expect(idOf(queue.next('cli', new Set(['taken'])))).toBe(b);
  expect(idOf(queue.next('cli', new Set(['taken', 'other'])))).toBeUndefined();
  expect(idOf(queue.next('cli'))).toBe(a);
});

test('a nested agent is overdue once it has waited for a slot for the limit', () => {
  const overdue = (now: number) =>
    queue.overdue(1000, now).map(({ record }) => record.agent_id);
  add(a);
  add(b, [{ agentId: a, delayMs: 0 }], 'cli', { isAgents: true });
  expect(overdue(0)).toEqual([]);
  expect(overdue(5000)).toEqual([]);
  queue.drop(a);
  end(a);
  expect(overdue(6000)).toEqual([]);
  expect(overdue(6999)).toEqual([]);
  expect(overdue(7000)).toEqual([b]);
  queue.drop(b);
  expect(overdue(8000)).toEqual([]);
});
