import { appendFileSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { isValidPosition, JournalFiles, totalSize } from './journal-files.ts';

let log: TestLog;
let files: JournalFiles;

beforeEach(() => {
  log = createLog();
  files = new JournalFiles(log.path);
});

afterEach(() => log.workspace.remove());

/** The files that `look` finds. */
const look = () =>
  files.look().map(({ name, start, size }) => ({ name, start, size }));

test('before the first record the journal is one empty file', () => {
  expect(look()).toEqual([{ name: 'iac.jsonl', start: 0, size: 0 }]);
  expect(totalSize(files.list())).toBe(0);
});

test('segments come first, and each begins where the previous one ends', async () => {
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

test('look() detects a write to the newest segment at once', async () => {
  for (const number of [0, 1, 2, 3]) {
    log.run(number, number + 1);
    await log.rotate();
  }
  log.run(4, 5);
  const before = totalSize(files.list());
  appendFileSync(log.segments().at(-1) ?? '', 'late\n');
  expect(totalSize(files.look())).toBe(before + 5);
});

test('look() detects a write to an older segment within as many calls as there are segments', async () => {
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

test('a file that was archived after it was listed is opened in the archive', async () => {
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

test('a position stays valid until something is written before it', async () => {
  log.run(0, 2);
  const half = { base: 0, offset: 100 };
  const end = { base: 0, offset: totalSize(files.list()) };
  await log.rotate();
  log.run(2, 4);
  const list = files.list();
  const later = { base: list[1]?.start ?? 0, offset: totalSize(list) };
  await log.rotate();
  for (const position of [half, end, later])
    expect(isValidPosition(files.list(), position)).toBe(true);

  appendFileSync(log.segments()[0] ?? '', 'late\n');

  expect(isValidPosition(files.list(), half)).toBe(true);
  expect(isValidPosition(files.list(), end)).toBe(true);
  expect(isValidPosition(files.list(), later)).toBe(false);
  const beyond = { base: 0, offset: end.offset + 6 };
  expect(isValidPosition(files.list(), beyond)).toBe(false);
});
