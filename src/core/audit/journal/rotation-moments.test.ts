import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { asHolder } from '../../../../test/kit/workspaces/lock-files.ts';
import { thisProcess } from '../../../adapters/child-process/process-table.ts';
import { verifyJournal } from './verify.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});
vi.mock('node:fs/promises', async () => {
  const { watchedPromises } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedPromises();
});

let log: TestLog;
let archive: string;
let lock: string;
/** The size of the journal, which is one byte above the limit of `rotate`. */
let size: number;
let problems: unknown[];

beforeEach(() => {
  log = createLog();
  onTestFinished(log.workspace.remove);
  archive = log.workspace.paths.segments;
  lock = join(log.workspace.record, 'rotation', 'lock');
  log.run(0, 3);
  size = statSync(log.path).size;
  problems = [];
  watchFiles();
});

const newRotation = () => log.newRotation(size - 1, problems);
const segmentNames = () =>
  existsSync(archive)
    ? readdirSync(archive).filter((name) => name !== '.gitignore')
    : [];

/** Another process archives the journal and begins a short one. */
function rotateElsewhere(): void {
  mkdirSync(archive, { recursive: true });
  renameSync(log.path, join(archive, 'iac-000001.jsonl'));
  log.run(3, 4);
}

async function expectIntact(records: number): Promise<void> {
  expect(await verifyJournal(log.path, log.heads)).toMatchObject({
    records,
    torn: 0,
    faults: []
  });
}

describe('a journal that another process rotates', () => {
  test('just before the lock is acquired is not rotated twice', async () => {
    justBefore('link', 'rotation/lock', rotateElsewhere);
    await newRotation().run();
    expect(problems).toEqual([]);
    expect(segmentNames()).toEqual(['iac-000001.jsonl']);
    expect(existsSync(log.path)).toBe(true);
    expect(existsSync(lock)).toBe(false);
    await expectIntact(8);
  });

  test('just before it is flushed needs no lock', async () => {
    const away = join(log.workspace.path, 'away.jsonl');
    justBefore('open', '/iac.jsonl', () => renameSync(log.path, away));
    await newRotation().run();
    expect([problems, existsSync(archive)]).toEqual([[], false]);
    expect(existsSync(join(lock, '..'))).toBe(false);
  });

  test('leaves its number to the process that was first', async () => {
    const theirs = join(archive, 'iac-000001.jsonl');
    justBefore('open', 'iac-000001.jsonl', () => writeFileSync(theirs, ''));
    const before = readFileSync(log.path, 'utf8');
    await newRotation().run();
    expect(problems).toEqual([]);
    expect(readFileSync(theirs, 'utf8')).toBe('');
    const ours = join(archive, 'iac-000002.jsonl');
    expect(readFileSync(ours, 'utf8')).toBe(before);
  });
});

test('a journal that the user moves away just before its rename leaves no segment, and the next one is rotated', async () => {
  const away = join(log.workspace.path, 'away.jsonl');
  justBefore('rename', 'iac-000001.jsonl', () => renameSync(log.path, away));
  const rotation = newRotation();
  await rotation.run();
  expect([problems, segmentNames()]).toEqual([[], []]);
  renameSync(away, log.path);
  await rotation.run();
  expect(segmentNames()).toEqual(['iac-000001.jsonl']);
  await expectIntact(6);
});

test.each([
  ['is removed', () => rmSync(lock)],
  ['gets another holder', () => holdElsewhere()]
])(
  'a journal whose lock %s during the rotation keeps its name',
  async (_title, change) => {
    justBefore('open', 'iac-000001.jsonl', change);
    await newRotation().run();
    expect(problems).toHaveLength(1);
    expect(String(problems)).toContain('was removed while it was in use');
    expect(segmentNames()).toEqual([]);
    expect(statSync(log.path).size).toBe(size);
    await expectIntact(6);
  }
);

/** Replaces the lock by that of another process, which lives. */
function holdElsewhere(identity = thisProcess()): void {
  mkdirSync(join(lock, '..'), { recursive: true });
  writeFileSync(`${lock}.next`, `${JSON.stringify(asHolder(identity))}\n`);
  renameSync(`${lock}.next`, lock);
}

test('a rotation does not wait for a process on another machine that rotates', async () => {
  const place = 'far-away its-boot its-space';
  holdElsewhere({ ...thisProcess(), place });
  const before = readFileSync(lock, 'utf8');
  await newRotation().run();
  expect([problems, segmentNames()]).toEqual([[], []]);
  expect(readdirSync(join(lock, '..'))).toEqual(['lock']);
  expect(readFileSync(lock, 'utf8')).toBe(before);
});

test('a segment is on the disk, with its content and its name, and no longer has its old name', async () => {
  // The judge has to see the content being written.
  log.run(3, 4);
  let isOldNameGone = false;
  justBefore('rename', 'iac-000001.jsonl', () =>
    justBefore('sync', dirname(log.path), () => {
      isOldNameGone = true;
    })
  );
  await newRotation().run();
  expect(isOldNameGone).toBe(true);
  expectDurable(join(archive, 'iac-000001.jsonl'));
});

test('calls that come while a rotation runs wait for it', async () => {
  const rotation = newRotation();
  const runs = [rotation.run(), rotation.run()];
  expect(runs[0]).toBe(runs[1]);
  await Promise.all(runs);
  log.run(3, 9);
  await rotation.run();
  expect(segmentNames()).toEqual(['iac-000001.jsonl', 'iac-000002.jsonl']);
});

describe('a rotation that fails', () => {
  const passes = (seconds: number) => vi.advanceTimersByTime(seconds * 1000);
  const refuse = () =>
    justBefore('rename', 'iac-000001.jsonl', () => {
      throw Object.assign(new Error('refused'), { code: 'EIO' });
    });

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    // Zero would be the time of a rotation that never failed.
    passes(100);
    refuse();
  });

  test('leaves no segment, and is tried again after a minute', async () => {
    const rotation = newRotation();
    await rotation.run();
    expect(String(problems)).toContain('could not be rotated');
    expect(String(problems)).toContain('refused');
    expect([segmentNames(), existsSync(lock)]).toEqual([[], false]);
    passes(59);
    await rotation.run();
    expect(segmentNames()).toEqual([]);
    passes(2);
    await rotation.run();
    expect(segmentNames()).toEqual(['iac-000001.jsonl']);
    // The pause is over: the next rotation takes place at once.
    log.run(3, 9);
    await rotation.run();
    expect(segmentNames()).toHaveLength(2);
    expect(problems).toHaveLength(1);
    await expectIntact(18);
  });

  test('is reported once, until one has succeeded', async () => {
    const rotation = newRotation();
    await rotation.run();
    passes(61);
    refuse();
    await rotation.run();
    expect(problems).toHaveLength(1);
    passes(59);
    await rotation.run();
    expect(segmentNames()).toEqual([]);
    passes(2);
    await rotation.run();
    expect(segmentNames()).toHaveLength(1);
    log.run(3, 9);
    justBefore('rename', 'iac-000002.jsonl', () => {
      throw new Error('refused again');
    });
    await rotation.run();
    expect(problems).toHaveLength(2);
    await expectIntact(18);
  });
});
