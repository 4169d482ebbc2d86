import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createLog, type TestLog } from '../../testing/logged-agents.ts';
import { idOf, makeUp } from '../../testing/made-up-agents.ts';
import { recordWith } from '../../testing/run-facts.ts';
import { parseRecord } from '../audit/parse-record.ts';
import { RunStore } from '../runs/run-store.ts';
import { turnsDirectory } from '../runs/session-turns.ts';
import { applyPolicy, removeAll } from './apply.ts';
import { takeCensus } from './census.ts';
import { choose } from './choose.ts';
import { removeAgents } from './remove-agents.ts';
import { Trash } from './trash.ts';

let log: TestLog;
let store: RunStore;

beforeEach(() => {
  log = createLog();
  store = new RunStore(log.workspace.record);
});

afterEach(() => log.workspace.remove());

const problems: string[] = [];

const tools = () => ({
  store,
  journal: log.journal,
  processes: createProcesses('dist'),
  onProblem: (problem: string) => problems.push(problem)
});

const spawns = () => readdirSync(join(store.root, 'spawns')).sort();

function turns(count: number): string[] {
  const ids = Array.from({ length: count }, (_, index) => idOf(index + 1));
  for (const number of ids.keys()) turn(number + 1);
  return ids;
}

function turn(number: number): void {
  makeUp(log.workspace.record, {
    agent_id: idOf(number),
    engine: 'grok',
    kind: 'api',
    session_id: idOf(1),
    toldSession: idOf(1),
    daysAgo: 11 - number,
    read: true
  });
}

test('an agent that somebody begins to go on with comes back whole', async () => {
  const ids = turns(3);
  const residents = await takeCensus(store);
  const units = choose(residents, { keep: 0 });
  expect(units).toHaveLength(1);
  // A server has reserved the next turn since.
  const session = turnsDirectory('grok', idOf(1), store);
  mkdirSync(session, { recursive: true });
  writeFileSync(join(session, '3'), idOf(9));
  expect(await removeAll(units, residents, tools())).toEqual([]);
  expect(spawns()).toEqual(ids);
  expect(readdirSync(store.directoryOf(idOf(1)))).toContain('outcome.json');
  expect(problems).toEqual([]);
});

test('so does one that went on and ended since it was counted', async () => {
  const ids = turns(3);
  const residents = await takeCensus(store);
  const units = choose(residents, { keep: 0 });
  turn(4);
  const session = turnsDirectory('grok', idOf(1), store);
  mkdirSync(session, { recursive: true });
  writeFileSync(join(session, '3'), idOf(4));
  expect(await removeAll(units, residents, tools())).toEqual([]);
  expect(spawns()).toEqual([...ids, idOf(4)]);
  expect(store.sizes.goneAt(idOf(1))).toBeUndefined();
  expect(store.sizes.total()).toBeGreaterThan(0);
});

test('nobody gets the id of one that is on its way out', async () => {
  turns(1);
  const residents = await takeCensus(store);
  const request = { agent_id: idOf(1), request_id: 'again' };
  const isTaken = () => !store.create(recordWith(request), 'x', 'x');
  const seen: boolean[] = [];
  // Here the clean may be killed, or others may come between.
  class Watched extends Trash {
    override take(path: string, name: string): boolean {
      const isOut = super.take(path, name);
      seen.push(isTaken());
      return isOut;
    }
  }
  const trash = new Watched(store.root, tools().processes);
  const units = choose(residents, { keep: 0 });
  await removeAgents(units, { ...tools(), trash });
  expect(seen).toEqual([true]);
  expect(spawns()).toEqual([]);
});

test('two cleans at once take each agent once', async () => {
  for (let number = 1; number <= 60; number += 1)
    makeUp(log.workspace.record, {
      ...{ agent_id: idOf(number), daysAgo: 1, read: true }
    });
  const residents = await takeCensus(store);
  const units = choose(residents, { keep: 0 });
  const [one, two] = await Promise.all([
    removeAll(units, residents, tools()),
    removeAll(units.toReversed(), residents, tools())
  ]);
  expect(one.length + two.length).toBe(60);
  expect(one.length * two.length).toBeGreaterThan(0);
  expect(spawns()).toEqual([]);
  const told = log
    .journalText()
    .split('\n')
    .flatMap((line) => parseRecord(line) ?? []);
  expect(told.map(({ agent_id }) => agent_id).sort()).toEqual(
    Array.from({ length: 60 }, (_, index) => idOf(index + 1))
  );
  expect(problems).toEqual([]);
});

test('one that came after the census is not looked at', async () => {
  turns(1);
  const residents = await takeCensus(store);
  makeUp(log.workspace.record, { agent_id: idOf(7), daysAgo: 90, read: true });
  await removeAll(choose(residents, { keep: 0 }), residents, tools());
  expect(spawns()).toEqual([idOf(7)]);
});

test('a full journal keeps no folder from going', async () => {
  turns(1);
  mkdirSync(log.path, { recursive: true });
  await applyPolicy({ keep: 0 }, tools());
  expect(existsSync(store.directoryOf(idOf(1)))).toBe(false);
  expect(problems.splice(0)).toEqual([
    expect.stringMatching(/^00000001 is not in the journal: /)
  ]);
});
