import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../test/kit/agents/made-up-agents.ts';
import {
  createLog,
  type TestLog
} from '../../../test/kit/servers/logged-agents.ts';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { parseRecord } from '../audit/journal/journal-record.ts';
import { RunStore } from '../runs/run-store.ts';
import { turnsDirectory } from '../runs/sessions/session-turns.ts';
import { applyPolicy, removeAgents, removeAll } from './clean.ts';
import { scanRecord } from './scan.ts';
import { choose } from './select.ts';
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

test('an agent that is continued during its removal comes back whole', async () => {
  const ids = turns(3);
  const residents = await scanRecord(store);
  const units = choose(residents, { keep: 0 });
  expect(units).toHaveLength(1);
  // A server has reserved the next turn meanwhile.
  const session = turnsDirectory('grok', idOf(1), store);
  mkdirSync(session, { recursive: true });
  writeFileSync(join(session, '3'), idOf(9));
  expect(await removeAll(units, residents, tools())).toEqual([]);
  expect(spawns()).toEqual(ids);
  expect(readdirSync(store.directoryOf(idOf(1)))).toContain('outcome.json');
  expect(problems).toEqual([]);
});

test('an agent that was continued, and ended, since the scan comes back whole', async () => {
  const ids = turns(3);
  const residents = await scanRecord(store);
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

test('the id of an agent that is being removed is not given again', async () => {
  turns(1);
  const residents = await scanRecord(store);
  const request = { agent_id: idOf(1), request_id: 'again' };
  const isTaken = () => !store.create(recordWith(request), 'x', 'x');
  const seen: boolean[] = [];
  // Here the clean may be killed, or other processes may intervene.
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

test('two simultaneous cleans remove each agent once', async () => {
  for (let number = 1; number <= 60; number += 1)
    makeUp(log.workspace.record, {
      ...{ agent_id: idOf(number), daysAgo: 1, read: true }
    });
  const residents = await scanRecord(store);
  const units = choose(residents, { keep: 0 });
  const [one, two] = await Promise.all([
    removeAll(units, residents, tools()),
    removeAll(units.toReversed(), residents, tools())
  ]);
  expect(one.length + two.length).toBe(60);
  expect(one.length * two.length).toBeGreaterThan(0);
  expect(spawns()).toEqual([]);
  const records = log
    .journalText()
    .split('\n')
    .flatMap((line) => parseRecord(line) ?? []);
  expect(records.map(({ agent_id }) => agent_id).sort()).toEqual(
    Array.from({ length: 60 }, (_, index) => idOf(index + 1))
  );
  expect(problems).toEqual([]);
});

test('an agent that was created after the scan stays', async () => {
  turns(1);
  const residents = await scanRecord(store);
  makeUp(log.workspace.record, { agent_id: idOf(7), daysAgo: 90, read: true });
  await removeAll(choose(residents, { keep: 0 }), residents, tools());
  expect(spawns()).toEqual([idOf(7)]);
});

test('a clean that is interrupted removes no further agent', async () => {
  for (const number of [1, 2])
    makeUp(log.workspace.record, {
      ...{ agent_id: idOf(number), daysAgo: 9 - number, read: true }
    });
  const residents = await scanRecord(store);
  const units = choose(residents, { keep: 0 });
  const interruption = new AbortController();
  const removing = removeAll(units, residents, {
    ...tools(),
    signal: interruption.signal
  });
  // The first one is removed before the call returns its promise.
  interruption.abort();
  expect((await removing).map(({ agentId }) => agentId)).toEqual([idOf(1)]);
  expect(spawns()).toEqual([idOf(2)]);
});

test('folders are removed even if the journal cannot be written', async () => {
  turns(1);
  mkdirSync(log.path, { recursive: true });
  await applyPolicy({ keep: 0 }, tools());
  expect(existsSync(store.directoryOf(idOf(1)))).toBe(false);
  expect(problems.splice(0)).toEqual([
    expect.stringMatching(/^00000001 is not in the journal: /)
  ]);
});
