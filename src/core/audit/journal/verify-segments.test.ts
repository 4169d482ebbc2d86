import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import {
  createLog,
  spawnOf,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { slowWriter } from '../../../../test/kit/workspaces/slow-writer.ts';
import { JournalFiles } from './journal-files.ts';
import { JournalReader } from './journal-reader.ts';
import { verifyJournal } from './verify.ts';

let log: TestLog;

afterEach(() => log.workspace.remove());

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.nat(2).map((who) => ({ do: 'write', who })) },
    { weight: 2, arbitrary: fc.nat(2).map((who) => ({ do: 'open', who })) },
    { weight: 2, arbitrary: fc.constant({ do: 'rotate', who: 0 }) },
    { weight: 1, arbitrary: fc.constant({ do: 'read', who: 0 }) }
  ),
  { minLength: 1, maxLength: 40 }
);

type Steps = (typeof steps extends fc.Arbitrary<infer T> ? T : never) & object;

/** Three writers that may be paused, rotations, and a concurrent reader. */
async function play(plan: Steps) {
  log = createLog();
  const writers = ['a', 'b', 'c'].map((name) => slowWriter(log, name));
  const reader = new JournalReader(new JournalFiles(log.path));
  const seen: string[] = [];
  const read = () => reader.read((line) => seen.push(line));
  let written = 0;
  for (const { do: what, who } of plan)
    if (what === 'rotate') await log.rotate();
    else if (what === 'read') await read();
    else if (what === 'open') writers[who]?.opens();
    else {
      writers[who]?.writes(spawnOf(written));
      written += 1;
    }
  await read();
  return { written, seen };
}

const verify = () => verifyJournal(log.path, log.heads);
const filesOf = () => new JournalFiles(log.path).list();

/** Every record with its position. */
function recordsNow() {
  return filesOf().flatMap(({ path, name, inode }) =>
    (inode === 0 ? '' : readFileSync(path, 'utf8'))
      .split('\n')
      .flatMap((text, index) => {
        const { writer, n } = text === '' ? {} : JSON.parse(text);
        const place = { file: name, line: index + 1 };
        return text === '' ? [] : [{ path, place, text, writer, n }];
      })
  );
}

/** Whether the numbers of each writer count from 0 up to its last one. */
function areInOrder(last: Map<unknown, number>): boolean {
  const next = new Map<unknown, number>();
  for (const { writer, n } of recordsNow()) {
    if (n !== (next.get(writer) ?? 0)) return false;
    next.set(writer, n + 1);
  }
  return [...last].every(([writer, n]) => next.get(writer) === n + 1);
}

test('every chain stays intact, whichever writer is paused and whenever the journal rotates', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const { written, seen } = await play(plan);
      const { records, torn, faults } = await verify();
      expect({ records, torn, faults }).toEqual({
        records: written,
        torn: 0,
        faults: []
      });
      const texts = recordsNow().map(({ text }) => text);
      expect([...seen].sort()).toEqual(texts.sort());
      log.workspace.remove();
    }),
    { numRuns: 60 }
  );
});

test('only the file and line of a changed record are reported', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), async (plan, choice) => {
      await play(plan);
      const all = recordsNow();
      const record = all[choice % Math.max(1, all.length)];
      if (record) {
        const { path, place, text, writer, n } = record;
        const whole = readFileSync(path, 'utf8');
        const changed = text.replace('"task":"task', '"task":"mask');
        writeFileSync(path, whole.replace(text, changed));
        const problem = `record ${n} of writer ${writer} was changed`;
        expect((await verify()).faults).toEqual([{ ...place, problem }]);
      }
      log.workspace.remove();
    }),
    { numRuns: 60 }
  );
});

test('missing, swapped, cut and doubled segments are reported', async () => {
  let shown = 0;
  const change = fc.constantFrom('gone', 'swapped', 'cut', 'doubled', 'all');
  await fc.assert(
    fc.asyncProperty(steps, change, fc.nat(), async (plan, how, choice) => {
      await play(plan);
      const segments = log.segments();
      const last = new Map<unknown, number>();
      for (const { writer, n } of recordsNow()) last.set(writer, n);
      const one = segments[choice % Math.max(1, segments.length)];
      const other = segments.at(-1);
      if (one && other) {
        changeSegments(how, segments, one, other);
        const { faults } = await verify();
        expect(faults.length === 0).toBe(areInOrder(last));
        shown += faults.length > 0 ? 1 : 0;
      }
      log.workspace.remove();
    }),
    { numRuns: 100 }
  );
  expect(shown).toBeGreaterThan(20);
});

function changeSegments(
  how: string,
  segments: string[],
  one: string,
  other: string
): void {
  const aside = `${one}.aside`;
  if (how === 'gone') rmSync(one);
  else if (how === 'all') for (const path of segments) rmSync(path);
  else if (how === 'doubled')
    copyFileSync(one, other.replace(/\d{6}(?=\.jsonl$)/, '000999'));
  else if (how === 'cut') {
    const lines = readFileSync(one, 'utf8').split('\n');
    writeFileSync(one, lines.slice(0, -2).join('\n'));
  } else {
    renameSync(one, aside);
    if (other !== one) renameSync(other, one);
    renameSync(aside, other);
  }
}

test('the heads reveal a deleted last segment and a deleted journal', async () => {
  log = createLog();
  log.run(0, 2);
  await log.rotate();
  log.run(2, 4);
  await log.rotate();
  const { writer } = log.journal;
  rmSync(log.segments()[1] ?? '');
  expect((await verify()).faults).toEqual([
    {
      file: 'journal/iac-000001.jsonl',
      line: 8,
      problem: `records 4 to 7 of writer ${writer} are missing`
    }
  ]);
  rmSync(log.segments()[0] ?? '');
  expect((await verify()).faults).toEqual([
    {
      file: 'iac.jsonl',
      line: 0,
      problem: `all records of writer ${writer} are missing`
    }
  ]);
});

test('a torn end of a segment is counted and is not a fault', async () => {
  log = createLog();
  log.run(0, 2);
  const path = log.path;
  const before = readFileSync(path, 'utf8');
  log.spawn('00000009', 'x');
  const line = readFileSync(path, 'utf8').slice(before.length);
  // The writer was killed before it stored a head.
  rmSync(log.heads, { recursive: true });
  for (const length of [2, 40, 150, line.length - 2]) {
    writeFileSync(path, before + line.slice(0, length));
    await log.rotate();
    const { torn, faults, records } = await verify();
    expect({ torn, faults, records }).toEqual({
      torn: 1,
      faults: [],
      records: 4
    });
    rmSync(log.segments()[0] ?? '');
  }
});
