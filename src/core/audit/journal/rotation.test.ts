import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import {
  asHolder,
  deadHolder
} from '../../../../test/kit/workspaces/lock-files.ts';
import { needing } from '../../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk
} from '../../../../test/kit/workspaces/small-disk.ts';
import { thisProcess } from '../../../adapters/child-process/process-table.ts';
import { verifyJournal } from './verify.ts';

let log: TestLog;
let archive: string;

beforeEach(() => {
  log = createLog();
  archive = log.workspace.paths.segments;
  log.run(0, 3);
});

afterEach(() => log.workspace.remove());

const segmentNames = () =>
  readdirSync(archive).filter((name) => name !== '.gitignore');

async function expectIntact(records: number): Promise<void> {
  expect(await verifyJournal(log.path, log.heads)).toMatchObject({
    records,
    torn: 0,
    faults: []
  });
}

test('a journal above its limit becomes a segment, byte for byte', async () => {
  const before = readFileSync(log.path);
  const problems: unknown[] = [];
  await log.newRotation(before.length, problems).run();
  expect(existsSync(archive)).toBe(false);

  await log.newRotation(before.length - 1, problems).run();

  expect(segmentNames()).toEqual(['iac-000001.jsonl']);
  const segment = join(archive, 'iac-000001.jsonl');
  expect(readFileSync(segment)).toEqual(before);
  expect(statSync(segment).mode & 0o777).toBe(0o600);
  expect(existsSync(log.path)).toBe(false);
  log.run(3, 4);
  await log.newRotation(before.length, problems).run();
  expect(segmentNames()).toHaveLength(1);
  await expectIntact(8);
  expect(problems).toEqual([]);
});

test('a missing or empty journal is not rotated', async () => {
  writeFileSync(log.path, '');
  await log.rotate();
  rmSync(log.path);
  await log.rotate();
  expect(existsSync(archive)).toBe(false);
});

test('no number in the archive is used twice, whatever file has it', async () => {
  mkdirSync(archive);
  const mine = ['iac-000003.jsonl.gz', 'iac-000002.jsonl', 'iac-9.jsonl'];
  for (const name of mine) writeFileSync(join(archive, name), '');
  mkdirSync(join(archive, 'iac-000005.jsonl'));
  symlinkSync('/nowhere', join(archive, 'iac-000006.jsonl'));
  await log.rotate();
  log.run(3, 4);
  await log.rotate();
  expect(log.segments().map((path) => path.slice(-17))).toEqual([
    '/iac-000007.jsonl',
    '/iac-000008.jsonl'
  ]);
  await expectIntact(8);
});

test('segments are ordered by number, also above a million', async () => {
  await log.rotate();
  renameSync(
    join(archive, 'iac-000001.jsonl'),
    join(archive, 'iac-999999.jsonl')
  );
  log.run(3, 4);
  await log.rotate();
  expect(log.segments()[1]).toBe(join(archive, 'iac-1000000.jsonl'));
  await expectIntact(8);
});

test('a segment may be moved and replaced by a link', async () => {
  await log.rotate();
  log.run(3, 4);
  const segment = join(archive, 'iac-000001.jsonl');
  const elsewhere = join(log.workspace.path, 'old.jsonl');
  renameSync(segment, elsewhere);
  expect((await verifyJournal(log.path, log.heads)).faults).toHaveLength(1);
  symlinkSync(elsewhere, segment);
  await expectIntact(8);
});

test('a journal that is a link is not rotated', async () => {
  const elsewhere = join(log.workspace.path, 'real.jsonl');
  renameSync(log.path, elsewhere);
  symlinkSync(elsewhere, log.path);
  await log.rotate();
  expect(existsSync(archive)).toBe(false);
  await expectIntact(6);
});

test('a failed rotation is reported once, and the journal keeps growing', async () => {
  writeFileSync(archive, 'in the way');
  const problems: unknown[] = [];
  const rotation = log.newRotation(0, problems);
  await rotation.run();
  log.run(3, 4);
  await rotation.run();
  expect(problems).toHaveLength(1);
  expect(String(problems[0])).toMatch(
    /iac\.jsonl could not be rotated.*EEXIST|ENOTDIR/
  );
  await expectIntact(8);
  rmSync(archive);
  // The next attempt is after a minute.
  await rotation.run();
  expect(existsSync(archive)).toBe(false);
  await log.rotate();
  await expectIntact(8);
});

needing('right to mount a small disk', canMount())(
  'a read-only or foreign disk in place of the archive loses no record',
  async () => {
    mkdirSync(archive);
    const disk = mountSmallDisk(archive, 64);
    try {
      for (const isReadOnly of [true, false]) {
        await disk.setReadOnly(isReadOnly);
        const problems: unknown[] = [];
        await log.newRotation(0, problems).run();
        expect(String(problems)).toMatch(isReadOnly ? /EROFS/ : /EXDEV/);
        expect(segmentNames()).toEqual([]);
        await expectIntact(6);
      }
    } finally {
      disk.unmount();
    }
    await log.rotate();
    expect(log.segments()).toHaveLength(1);
    await expectIntact(6);
  }
);

needing('right to mount a small disk', canMount())(
  'on a full disk no record is lost, whether or not it rotates',
  async () => {
    const other = createLog();
    mkdirSync(other.logDirectory);
    const disk = mountSmallDisk(other.logDirectory, 64);
    try {
      other.run(0, 3);
      disk.fill();
      const problems: unknown[] = [];
      await other.newRotation(0, problems).run();
      expect(problems.length + other.segments().length).toBe(1);
      disk.free();
      other.run(3, 5);
      const found = await verifyJournal(other.path, other.heads);
      expect(found).toMatchObject({ records: 10, faults: [] });
    } finally {
      disk.unmount();
      other.workspace.remove();
    }
  }
);

test('a process does not wait while another one rotates', async () => {
  const lock = log.workspace.writeRecord(
    'rotation/lock',
    JSON.stringify(asHolder(thisProcess()))
  );
  const problems: unknown[] = [];
  await log.newRotation(0, problems).run();
  expect({ problems, segments: log.segments() }).toEqual({
    problems: [],
    segments: []
  });
  expect(existsSync(lock)).toBe(true);
});

test('the lock of a process that died during a rotation is taken over', async () => {
  const dead = JSON.stringify(await deadHolder());
  log.workspace.writeRecord('rotation/lock', dead);
  mkdirSync(archive);
  writeFileSync(join(archive, 'iac-000001.jsonl'), '');
  await log.rotate();
  expect(log.segments()).toEqual([join(archive, 'iac-000002.jsonl')]);
  await expectIntact(6);
});

test('many processes at once rotate only once', async () => {
  const rotations = Array.from({ length: 8 }, () => log.newRotation());
  await Promise.all(rotations.map((rotation) => rotation.run()));
  expect(log.segments()).toHaveLength(1);
  log.spawn(agentId(9), 'x');
  await expectIntact(7);
  for (const rotation of rotations) rotation.close();
  const left = readdirSync(join(log.workspace.record, 'rotation'));
  expect(left).not.toContain('lock');
});
