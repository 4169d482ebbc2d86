import { appendFileSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog, type TestLog } from '../../testing/logged-agents.ts';
import { isSamePlace, JournalFiles, totalSize } from './journal-files.ts';

let log: TestLog;
let files: JournalFiles;

beforeEach(() => {
  log = createLog();
  files = new JournalFiles(log.path);
});

afterEach(() => log.workspace.remove());

/** What `list` gives, found by `look`. */
const look = () =>
  files.look().map(({ name, start, size }) => ({ name, start, size }));

test('where there is nothing yet, the journal is one empty file', () => {
  expect(look()).toEqual([{ name: 'iac.jsonl', start: 0, size: 0 }]);
  expect(totalSize(files.list())).toBe(0);
});

test('segments come first, and each begins where the last one ends', async () => {
  log.run(0, 2);
  const [{ size = 0 } = {}] = look();
  await log.rotate();
  const first = { name: 'journal/iac-000001.jsonl', start: 0, size };
  expect(look()).toEqual([first, { name: 'iac.jsonl', start: size, size: 0 }]);
  log.run(2, 4);
  expect(look()[1]?.size).toBeGreaterThan(0);
  await log.rotate();
  expect(look()).toMatchObject([
    first,
    { name: 'journal/iac-000002.jsonl', start: size },
    { name: 'iac.jsonl', size: 0 }
  ]);
});

test('a look sees what was written to the newest segment at once', async () => {
  for (const number of [0, 1, 2, 3]) {
    log.run(number, number + 1);
    await log.rotate();
  }
  log.run(4, 5);
  const before = totalSize(files.list());
  appendFileSync(log.segments().at(-1) ?? '', 'late\n');
  expect(totalSize(files.look())).toBe(before + 5);
});

test('and to any other one after as many looks as there are', async () => {
  for (const number of [0, 1, 2, 3]) {
    log.run(number, number + 1);
    await log.rotate();
  }
  log.run(4, 5);
  for (const segment of log.segments()) {
    const before = totalSize(files.list());
    appendFileSync(segment, 'late\n');
    const sizes = [1, 2, 3].map(() => totalSize(files.look()));
    expect(sizes.at(-1)).toBe(before + 5);
  }
  rmSync(log.segments()[1] ?? '');
  expect([1, 2, 3].map(() => files.look().length).at(-1)).toBe(4);
});

test('a file that was archived since it was listed is opened there', async () => {
  log.run(0, 2);
  const [file] = files.list();
  if (!file) throw new Error('There is a journal.');
  await log.rotate();
  log.run(2, 9);
  const handle = await files.open(file);
  expect((await handle?.stat())?.size).toBe(file.size);
  await handle?.close();
  for (const path of log.segments()) rmSync(path);
  expect(await files.open(file)).toBe(undefined);
});

test('a place stays where it is, until something comes before it', async () => {
  log.run(0, 2);
  const half = { base: 0, offset: 100 };
  const end = { base: 0, offset: totalSize(files.list()) };
  await log.rotate();
  log.run(2, 4);
  const list = files.list();
  const later = { base: list[1]?.start ?? 0, offset: totalSize(list) };
  await log.rotate();
  for (const place of [half, end, later])
    expect(isSamePlace(files.list(), place)).toBe(true);

  appendFileSync(log.segments()[0] ?? '', 'late\n');

  expect(isSamePlace(files.list(), half)).toBe(true);
  expect(isSamePlace(files.list(), end)).toBe(true);
  expect(isSamePlace(files.list(), later)).toBe(false);
  const beyond = { base: 0, offset: end.offset + 6 };
  expect(isSamePlace(files.list(), beyond)).toBe(false);
});
