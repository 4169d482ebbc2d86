import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  agentId,
  archives,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';

const noon = new Date('2026-11-21T12:00:00Z');
let log: TestLog;

afterEach(() => log.workspace.remove());

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

test('IAC.md shows 200 entries, and each older one is in one archive file', async () => {
  log = createLog();
  const view = log.newView();
  for (const count of [150, 199, 201, 305, 317, 425]) {
    log.run(log.everywhere().length, count);
    await view.render([], noon);
    expect(log.entries().length).toBe(Math.min(200, count));
    expect(log.everywhere()).toEqual(numbers(0, count));
  }
  expect(archives(log.logDirectory)).toEqual([
    'IAC-000001-000100.md',
    'IAC-000101-000200.md',
    'IAC-000201-000300.md'
  ]);
  expect(log.archived()[0]?.output?.text).toBe('answer 99');
});

test('a new view continues where the last one stopped', async () => {
  log = createLog({ maximumEntries: 10 });
  for (const count of [40, 130, 131, 260]) {
    log.run(log.everywhere().length, count);
    await log.newView().render([], noon);
    expect(log.everywhere()).toEqual(numbers(0, count));
  }
});

test('two servers that take turns neither lose nor repeat an entry', async () => {
  log = createLog({ maximumEntries: 10 });
  const views = [log.newView(), log.newView()];
  for (const count of [20, 55, 99, 100, 101, 230, 231, 320]) {
    log.run(log.everywhere().length, count);
    await views[count % 2]?.render([], noon);
    expect(log.everywhere()).toEqual(numbers(0, count));
  }
});

test('a server that lags behind shows no archived entry again', async () => {
  log = createLog({ maximumEntries: 10 });
  const [ahead, behind] = [log.newView(), log.newView()];
  log.run(0, 30);
  await behind.render([], noon);
  log.run(30, 150);
  await ahead.render([], noon);
  log.run(150, 151);
  await Promise.all([behind.render([], noon), ahead.render([], noon)]);
  await ahead.render([], noon);

  expect(log.everywhere()).toEqual(numbers(0, 151));
});

test('a changed number of entries repeats no entry', async () => {
  log = createLog();
  let count = 0;
  for (const maximumEntries of [200, 20, 200, 60, 200]) {
    log.run(count, count + 120);
    count += 120;
    await log.newView({ maximumEntries }).render([], noon);
    expect(log.everywhere()).toEqual(numbers(0, count));
  }
});

test('the entry of an agent that ends later is corrected in its archive file', async () => {
  log = createLog({ maximumEntries: 5 });
  const view = log.newView();
  log.spawn(agentId(0), 'slow', { task: 'slow' });
  log.run(1, 30);
  await view.render([], noon);
  expect(log.archived().at(-1)).toMatchObject({ word: 'Running' });

  log.finish(agentId(0), 'at last');
  await view.render([], noon);

  expect(log.archived().at(-1)).toMatchObject({
    word: 'Done',
    output: { text: 'at last' }
  });
  expect(log.everywhere()).toEqual(numbers(0, 30));
});

test('another server corrects an archived entry too, whatever its age', async () => {
  log = createLog({ maximumEntries: 5 });
  log.run(0, 50);
  log.spawn(agentId(50), 'slow', { task: 'slow' });
  log.run(51, 700);
  await log.newView().render([], noon);
  log.finish(agentId(50), 'at last');
  log.run(700, 701);

  await log.newView().render([], noon);

  const slow = log.archived().find(({ id }) => id === agentId(50));
  expect(slow).toMatchObject({ word: 'Done', output: { text: 'at last' } });
  expect(log.everywhere()).toEqual(numbers(0, 701));
});

test('IAC.md stays below its size limit, header included', async () => {
  const maximumBytes = 100_000;
  log = createLog({ maximumBytes });
  const view = log.newView();
  for (let number = 0; number < 30; number += 1) {
    log.spawn(agentId(number), 'p'.repeat(9000));
    log.finish(agentId(number), 'r'.repeat(9000));
    await view.render([], noon);
    const { size } = statSync(join(log.logDirectory, 'IAC.md'));
    expect(size).toBeLessThanOrEqual(maximumBytes);
  }
  expect(log.entries().length).toBe(5);
  expect(log.everywhere()).toEqual(numbers(0, 30));
});

test('without IAC.md all entries are rendered from the journal again', async () => {
  log = createLog({ maximumEntries: 10 });
  log.run(0, 125);
  await log.newView().render([], noon);
  log.workspace.write('logs/IAC.md', 'somebody wrote over it');

  await log.newView().render([], noon);

  expect(log.everywhere()).toEqual(numbers(0, 125));
});

test('a replaced journal is shown from its beginning', async () => {
  log = createLog({ maximumEntries: 10 });
  const view = log.newView();
  log.run(0, 25);
  await view.render([], noon);
  log.workspace.writeRecord('iac.jsonl', '');
  log.run(100, 103);

  await view.render([], noon);

  const ids = log.entries().map(({ id }) => Number.parseInt(id, 16));
  expect(ids).toEqual([102, 101, 100]);
});

test('a torn or foreign line in the journal loses no entry', async () => {
  log = createLog({ maximumEntries: 10 });
  log.run(0, 3);
  const torn = '\n{"writer":"aaaaaaaa","n":0,"type":"spawned","agent_id":"ff';
  appendFileSync(log.path, torn);
  await log.newView().render([], noon);
  log.run(3, 30);
  appendFileSync(log.path, `${torn}\n{"foreign":true}\n[1]\nnull\n\0\n`);
  log.run(30, 40);

  await log.newView().render([], noon);

  expect(log.everywhere()).toEqual(numbers(0, 40));
});
