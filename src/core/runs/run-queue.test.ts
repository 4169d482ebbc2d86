import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../plugin.ts';
import { outcomeWith, recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { until } from '../../testing/until.ts';
import { RunQueue, type Waiting } from './run-queue.ts';
import { RunStore } from './run-store.ts';
import type { Earlier } from './spawn-request.ts';

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
  more: { engine?: string; isAgents?: boolean } = {}
) {
  const { engine: name = 'x', isAgents } = more;
  const record = recordWith({ agent_id, kind, engine: name });
  const { access } = record;
  store.create(record, 'x', 'x');
  const request = { prompt: 'x', access, cwd: '/', asRoot: false };
  queue.add({ record, engine, request, after, isAgents });
}

function end(agentId: string): void {
  store.end(agentId, outcomeWith());
}

function idOf(next: Waiting | number | undefined): unknown {
  return typeof next === 'object' ? next.record.agent_id : next;
}

const [a, b, c] = ['aaaaaaaa', 'bbbbbbbb', 'cccccccc'] as const;
const gone = '00000000';

test('first in is first out, of each kind', () => {
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

describe('who comes after another', () => {
  test('lets those behind it pass, and starts when that has ended', () => {
    add(a);
    queue.drop(a);
    add(b, [{ agentId: a, delayMs: 0 }]);
    add(c);
    expect(idOf(queue.next('cli'))).toBe(c);
    queue.drop(c);
    // Time alone starts nothing.
    expect(queue.next('cli')).toBeUndefined();
    end(a);
    expect(idOf(queue.next('cli'))).toBe(b);
  });

  test('starts also when the end of that was spoilt', () => {
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

  test('waits for all that it comes after', () => {
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

  test('keeps its pause, counted from the end', async () => {
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

  test('waits for one that is announced, and not for ever', () => {
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

/** How often a run is looked up on the disk. */
class WatchedStore extends RunStore {
  looks = 0;
  override has(agentId: string): boolean {
    this.looks += 1;
    return super.has(agentId);
  }
}

test('of a long line in which many have ended, each is looked at once', () => {
  const watched = new WatchedStore(workspace.record);
  store = watched;
  queue = new RunQueue(store);
  const ids = Array.from({ length: 20 }, (_, n) => `000000${n + 10}`);
  for (const [place, id] of ids.entries())
    add(
      id,
      ids
        .slice(0, place)
        .reverse()
        .map((agentId) => ({ agentId, delayMs: 0 }))
    );
  for (const id of ids) queue.drop(id);
  for (const id of ids.slice(1)) end(id);
  add(
    a,
    [...ids].reverse().map((agentId) => ({ agentId, delayMs: 0 }))
  );
  watched.looks = 0;
  expect(queue.next('cli')).toBeUndefined();
  expect(watched.looks).toBeLessThanOrEqual(ids.length);
  end(ids[0] ?? '');
  expect(idOf(queue.next('cli'))).toBe(a);
  expect(watched.looks).toBeLessThanOrEqual(ids.length * ids.length);
});

test('engines whose places are taken are passed by the others', () => {
  add(a, [], 'cli', { engine: 'taken' });
  add(b, [], 'cli', { engine: 'other' });
  add(c, [], 'cli', { engine: 'taken' });
  expect(idOf(queue.next('cli', new Set(['taken'])))).toBe(b);
  expect(idOf(queue.next('cli', new Set(['taken', 'other'])))).toBeUndefined();
  expect(idOf(queue.next('cli'))).toBe(a);
});

test("an agent's agent is overdue so long after its turn came", () => {
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
