import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  endOf,
  spawnOf,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { slowWriter } from '../../../../test/kit/workspaces/slow-writer.ts';
import { JournalFiles } from './journal-files.ts';
import { JournalReader } from './journal-reader.ts';
import { recentlyEnded } from './recently-ended.ts';

const noon = new Date('2026-11-21T12:00:00Z');
let log: TestLog;

beforeEach(() => {
  log = createLog({ maximumEntries: 10 });
});

afterEach(() => log.workspace.remove());

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

/** Numbers of the agents that a reader returns, in order. */
async function agentsIn(reader: JournalReader): Promise<number[]> {
  const found: number[] = [];
  await reader.read((line) => {
    const [, id = ''] = /"agent_id":"([0-9a-f]{8})"/.exec(line) ?? [];
    found.push(Number.parseInt(id, 16));
  });
  return found;
}

test('a rotation keeps all positions, so nothing is shown again', async () => {
  const view = log.newView();
  for (const count of [30, 60, 90]) {
    log.run(count - 30, count);
    await view.render([], noon);
    const before = log.read('IAC.md');
    await log.rotate();
    expect(view.look().isShown).toBe(true);
    expect(log.newView().look().isShown).toBe(true);
    await view.render([], noon);
    expect(log.read('IAC.md').replace(/base \d+/, '')).toBe(
      before.replace(/base \d+/, '')
    );
  }
});

test('an old view object and a new one continue across rotations', async () => {
  const view = log.newView();
  let count = 0;
  for (const next of [25, 26, 130, 131, 260, 261]) {
    log.run(count, next);
    count = next;
    await (next % 2 ? view : log.newView()).render([], noon);
    await log.rotate();
    expect(log.everywhere()).toEqual(numbers(0, count));
  }
  expect(log.segments()).toHaveLength(6);
});

test('a spawn that was written late is shown by every server', async () => {
  const writer = slowWriter(log, 'late');
  const views = [log.newView(), log.newView()];
  log.run(0, 130);
  writer.opens();
  await views[0]?.render([], noon);
  await log.rotate();
  log.run(131, 150);
  for (const view of views) await view.render([], noon);

  writer.writes(spawnOf(130));

  for (const view of [...views, log.newView()]) {
    expect(view.look().isShown).toBe(view !== views[0]);
    await view.render([], noon);
    expect(log.everywhere()).toEqual(numbers(0, 150));
  }
});

test('an end that was written late corrects an entry of any age', async () => {
  const writer = slowWriter(log, 'late');
  log.spawn(agentId(0), 'slow');
  log.run(1, 30);
  writer.opens();
  const view = log.newView();
  for (const first of [30, 150, 270]) {
    await view.render([], noon);
    await log.rotate();
    log.run(first, first + 120);
  }
  await view.render([], noon);
  writer.writes(endOf(0));

  // Each call checks only two of the segments.
  expect([1, 2, 3].some(() => !view.look().isShown)).toBe(true);
  await view.render([], noon);

  expect(log.archived().find(({ id }) => id === agentId(0))).toMatchObject({
    word: 'Done',
    output: { text: 'answer 0' }
  });
  expect(log.everywhere()).toEqual(numbers(0, 390));
});

test('a view of a version without segments is rendered again', async () => {
  log.run(0, 40);
  await log.newView().render([], noon);
  await log.rotate();
  log.run(40, 60);
  const old = log.read('IAC.md').replace(/, base \d+/, '');
  log.workspace.write('logs/IAC.md', old);

  await log.newView().render([], noon);

  expect(log.everywhere()).toEqual(numbers(0, 60));
});

test('a reader gets every line once, late ones when they arrive', async () => {
  const writer = slowWriter(log, 'late');
  const reader = new JournalReader(new JournalFiles(log.path));
  log.run(0, 2);
  writer.opens();
  expect(await agentsIn(reader)).toEqual([0, 0, 1, 1]);
  log.run(2, 3);
  await log.rotate();
  log.run(3, 4);
  await log.rotate();
  expect(await agentsIn(reader)).toEqual([2, 2, 3, 3]);
  writer.writes(spawnOf(9));
  log.run(4, 5);
  expect(await agentsIn(reader)).toEqual([9, 4, 4]);
  expect(await agentsIn(reader)).toEqual([]);
});

test('a line that was torn by a rotation is returned once it is whole', async () => {
  const reader = new JournalReader(new JournalFiles(log.path));
  log.run(0, 1);
  const at = new Date().toISOString();
  const line = JSON.stringify({ at, ...spawnOf(7) });
  appendFileSync(log.path, line.slice(0, 50));
  expect(await agentsIn(reader)).toEqual([0, 0]);
  await log.rotate();
  log.run(1, 2);
  expect(await agentsIn(reader)).toEqual([1, 1]);
  const [segment = ''] = log.segments();
  appendFileSync(segment, line.slice(50));
  expect(await agentsIn(reader)).toEqual([7]);
});

test('a record without its last newline counts, also in a segment', async () => {
  log.run(0, 3);
  truncateSync(log.path, readFileSync(log.path).length - 1);
  await log.rotate();
  log.run(3, 4);
  const reader = new JournalReader(new JournalFiles(log.path));
  expect(await agentsIn(reader)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  await log.newView().render([], noon);
  expect(log.entries().every(({ done }) => done)).toBe(true);
  // The same holds when a view continues from a bookmark.
  await log.rotate();
  log.run(4, 30);
  await log.newView().render([], noon);
  expect(log.everywhere()).toEqual(numbers(0, 30));
  const ids = recentlyEnded(log.journal.files, 29);
  expect(ids).toEqual(numbers(1, 30).map(agentId));
});

test('the agents that ended last are found across any number of segments', async () => {
  for (const number of [1, 2, 3, 4, 5]) {
    log.finish(agentId(number), 'x');
    await log.rotate();
  }
  log.finish(agentId(6), 'x');
  expect(recentlyEnded(log.journal.files, 4)).toEqual(
    [3, 4, 5, 6].map(agentId)
  );
  expect(recentlyEnded(log.journal.files, 9)).toHaveLength(6);
});

test('a truncated file counts as another journal', async () => {
  const view = log.newView();
  log.run(0, 25);
  await log.rotate();
  log.run(25, 50);
  await view.render([], noon);
  truncateSync(log.path, 0);
  log.run(100, 103);

  await view.render([], noon);

  const shown = [...numbers(0, 25), 100, 101, 102];
  expect(log.entries().map(({ id }) => Number.parseInt(id, 16))).toEqual(
    shown.slice(-10).reverse()
  );
});
