import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { JournalFiles } from './journal-files.ts';
import { JournalReader } from './journal-reader.ts';

const noon = new Date('2026-11-21T12:00:00Z');
let log: TestLog;

beforeEach(() => {
  log = createLog({ maximumEntries: 10 });
});

afterEach(() => log.workspace.remove());

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

/** Ways to replace the journal with another one. */
const ways: [string, () => void][] = [
  ['removed', () => rmSync(log.path)],
  ['cut in place', () => truncateSync(log.path)],
  [
    'replaced by a file of another time',
    () => {
      const other = `${log.path}.other`;
      writeFileSync(other, '');
      renameSync(other, log.path);
    }
  ]
];

describe.each(ways)('when the journal is %s', (_, replace) => {
  // Fewer agents than before, the same number, and more.
  test.each([1, 3, 7])('a view then shows %i agents', async (count) => {
    const views = [log.newView(), log.newView()];
    log.run(0, 3);
    for (const view of views) await view.render([], noon);
    expect(views.map((view) => view.look().isShown)).toEqual([true, true]);
    replace();
    log.run(10, 10 + count);
    for (const view of [...views, log.newView()]) {
      if (view !== views[1])
        expect(view.look().isShown).toBe(view !== views[0]);
      await view.render([], noon);
      expect(log.everywhere()).toEqual(numbers(10, 10 + count));
      expect(view.look().isShown).toBe(true);
    }
  });

  test('the archive is rendered from the new journal', async () => {
    const view = log.newView();
    log.run(0, 130);
    await view.render([], noon);
    replace();
    log.run(200, 330);
    await view.render([], noon);
    expect(log.everywhere()).toEqual(numbers(200, 330));
  });

  test('a reader reports it, and a new one reads from the beginning', async () => {
    const files = new JournalFiles(log.path);
    const reader = new JournalReader(files);
    log.run(0, 3);
    expect(await reader.read(() => undefined)).toBe(true);
    expect(await reader.read(() => undefined)).toBe(true);
    replace();
    log.run(10, 13);
    expect(await reader.read(() => undefined)).toBe(false);
  });
});

test('a different journal of the same length is detected', async () => {
  const earlier = `${log.path}.earlier`;
  log.run(0, 3);
  copyFileSync(log.path, earlier);
  const text = readFileSync(log.path, 'utf8');
  const view = log.newView();
  await view.render([], noon);
  writeFileSync(log.path, text.replaceAll('"00000002"', '"00000009"'));
  expect(view.look().isShown).toBe(false);
  expect(log.newView().look().isShown).toBe(false);
  await view.render([], noon);
  expect(log.everywhere()).toEqual([0, 1, 9]);
  copyFileSync(earlier, log.path);
  await log.newView().render([], noon);
  expect(log.everywhere()).toEqual([0, 1, 2]);
});

test('a journal that was moved away and back counts as the same', async () => {
  const view = log.newView();
  log.run(0, 3);
  await view.render([], noon);
  copyFileSync(log.path, `${log.path}.copy`);
  rmSync(log.path);
  renameSync(`${log.path}.copy`, log.path);
  expect(view.look().isShown).toBe(true);
  expect(log.newView().look().isShown).toBe(true);
});
