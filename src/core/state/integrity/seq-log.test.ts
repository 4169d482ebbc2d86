import {
  appendFileSync,
  readFileSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { type Numbered, SeqLog } from './seq-log.ts';

interface Entry extends Numbered {
  pad: string;
}

let path: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  path = join(workspace.path, 'log.jsonl');
});

function parse(value: unknown): Entry | undefined {
  const { seq, pad }: Partial<Entry> = { ...Object(value) };
  return typeof seq === 'number' && typeof pad === 'string'
    ? { seq, pad }
    : undefined;
}

function lineOf(seq: number, length: number): string {
  return JSON.stringify({ seq, pad: 'é"x'.repeat(length / 3) });
}

/** Reads the whole log without seeking, as the reference. */
function naive(): Entry[] {
  const bytes = readFileSync(path);
  const entries: Entry[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    const line = bytes.subarray(start, end);
    start = end + 1;
    if (line.length > 1024 * 1024) continue;
    try {
      const entry = parse(JSON.parse(line.toString()));
      if (entry) entries.push(entry);
    } catch {
      // Invalid lines are skipped.
    }
  }
  return entries;
}

function naiveSince(
  all: Entry[],
  seq: number,
  room: { entries: number; chars: number }
) {
  const after = all.filter((entry) => entry.seq > seq);
  let chars = 0;
  const fits = after.findIndex((entry, index) => {
    chars += JSON.stringify(entry).length + 1;
    return index >= room.entries || (index > 0 && chars > room.chars);
  });
  return fits < 0
    ? { entries: after, more: false }
    : { entries: after.slice(0, fits), more: true };
}

const garbage = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '{',
    '{}',
    'null',
    '[1]',
    '"seq"',
    '\0',
    '{"seq":1}'
  ),
  fc.constantFrom('{"seq":1,"pad":"half', '\r', '\uFEFF{}', '7', '1e999'),
  fc
    .uint8Array({ maxLength: 40 })
    .map((bytes) => bytes.filter((b) => b !== 10)),
  // A long foreign line, and lines above the limit.
  fc.integer({ min: 60_000, max: 150_000 }).map((length) => 'g'.repeat(length)),
  fc.constantFrom('g'.repeat(1_500_000), lineOf(1, 700_000))
);

const piece = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.integer({ min: 1, max: 3 }),
      length: fc.oneof(
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 0, max: 30_000 }),
        fc.constantFrom(65_500, 65_536, 130_000)
      )
    })
  },
  { weight: 1, arbitrary: garbage }
);

type Piece = typeof piece extends fc.Arbitrary<infer Value> ? Value : never;

/** Lines with garbage between them; the last may have no newline. */
function write(pieces: Piece[], torn: number): void {
  let seq = 0;
  const parts = pieces.map((one) => {
    if (typeof one === 'string' || !('step' in one)) return Buffer.from(one);
    seq += one.step;
    return Buffer.from(lineOf(seq, one.length));
  });
  const newline = Buffer.from('\n');
  const whole = Buffer.concat(parts.flatMap((part) => [part, newline]));
  writeFileSync(path, whole);
  truncateSync(path, Math.max(0, whole.length - torn));
}

const logs = fc.tuple(
  fc.array(piece, { maxLength: 60, size: 'max' }),
  fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 }))
);

describe('in a log with any garbage between its lines,', () => {
  test('a delta equals the result of a full read', () => {
    fc.assert(
      fc.property(
        logs,
        fc.array(fc.double({ min: 0, max: 1.1, noNaN: true }), {
          minLength: 3,
          maxLength: 3
        }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 100_000 }),
        ([pieces, torn], places, entries, chars) => {
          write(pieces, torn);
          const log = new SeqLog(path, parse);
          const all = naive();
          const last = all.at(-1)?.seq ?? 0;
          for (const place of [0, ...places])
            for (const room of [
              { entries, chars: 1e9 },
              { entries: 1e9, chars }
            ]) {
              const seq = Math.round(place * last);
              expect(log.since(seq, room)).toEqual(naiveSince(all, seq, room));
            }
        }
      ),
      { numRuns: 60 }
    );
  });

  test('the tail equals the end of a full read', () => {
    fc.assert(
      fc.property(
        logs,
        fc.integer({ min: 0, max: 70 }),
        ([pieces, torn], n) => {
          write(pieces, torn);
          const log = new SeqLog(path, parse);
          const all = naive();
          expect(log.tail(n)).toEqual(n === 0 ? [] : all.slice(-n));
          expect(log.lastSeq()).toBe(all.at(-1)?.seq ?? 0);
        }
      ),
      { numRuns: 60 }
    );
  });

  test('reading from the end of the last read misses and repeats nothing', () => {
    fc.assert(
      fc.property(logs, fc.integer({ min: 1, max: 9 }), ([pieces, torn], n) => {
        write(pieces, torn);
        const log = new SeqLog(path, parse);
        const found: Entry[] = [];
        for (let at = 0, before = -1; at !== before; ) {
          before = at;
          let count = 0;
          at = log.read(at, (entry) => {
            if (entry) found.push(entry);
            count += 1;
            return count < n;
          });
        }
        expect(found).toEqual(naive());
      }),
      { numRuns: 30 }
    );
  });
});

test('a line counts once its newline is written', () => {
  const log = new SeqLog(path, parse);
  const read = (from: number) => {
    const found: number[] = [];
    const end = log.read(from, (entry) => {
      if (entry) found.push(entry.seq);
      return true;
    });
    return { found, end };
  };
  expect(read(0)).toEqual({ found: [], end: 0 });
  expect(log.stamp()).toBe('');
  writeFileSync(path, `${lineOf(1, 3)}\n${lineOf(2, 3).slice(0, 9)}`);
  const first = read(0);
  expect(first.found).toEqual([1]);
  const stamp = log.stamp();
  appendFileSync(path, `${lineOf(2, 3).slice(9)}\n`);
  expect(log.stamp()).not.toBe(stamp);
  expect(read(first.end)).toEqual({ found: [2], end: log.size() });
});

test('a missing log is empty', () => {
  const log = new SeqLog(path, parse);
  expect(log.since(0, { entries: 9, chars: 9 })).toEqual({
    entries: [],
    more: false
  });
  expect(log.tail(5)).toEqual([]);
  expect(log.lastSeq()).toBe(0);
  expect(log.size()).toBe(0);
});
