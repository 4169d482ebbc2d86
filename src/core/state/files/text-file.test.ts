import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { readEnds, readSlice, sizeOf, tailOf } from './text-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'text');
});

afterEach(() => workspace.remove());

const text = fc
  .array(fc.constantFrom('a', '\n', 'é', '한', '😀', '👩‍💻', '\u0000'), {
    maxLength: 40
  })
  .map((parts) => parts.join(''));

const halfPair =
  /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

test('successive parts make up the text, whatever their size', async () => {
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.integer({ min: 2, max: 12 }),
      async (all, size) => {
        writeFileSync(path, all);
        let read = '';
        for (;;) {
          const part = await readSlice(path, read.length, size);
          expect(part.totalChars).toBe(all.length);
          expect(part.text).not.toMatch(halfPair);
          if (part.text === '') break;
          read += part.text;
        }
        expect(read).toBe(all);
      }
    ),
    { numRuns: 100 }
  );
});

test('any part equals that slice of the text, except for half characters', async () => {
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.nat(90),
      fc.nat(90),
      async (all, from, length) => {
        writeFileSync(path, all);
        const part = await readSlice(path, from, length);
        const exact = all.slice(from, from + length);
        expect(part.text).not.toMatch(halfPair);
        expect([exact.length, exact.length - 1]).toContain(part.text.length);
        for (const [index, unit] of [...part.text].entries())
          if (unit !== '\ufffd' && part.text.length === exact.length)
            expect(exact.includes(unit), String(index)).toBe(true);
      }
    ),
    { numRuns: 150 }
  );
});

test('the two ends are the ends of the text, and the whole text when they meet', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.nat(40), fc.nat(40), async (all, first, last) => {
      writeFileSync(path, all);
      const { head, tail, totalChars } = await readEnds(path, first, last);
      expect(totalChars).toBe(all.length);
      expect(all.startsWith(head) && all.endsWith(tail)).toBe(true);
      if (all.length <= first + last) expect(head + tail).toBe(all);
      else {
        expect(head + tail).not.toMatch(halfPair);
        expect(first - head.length + (last - tail.length)).toBeLessThan(3);
      }
    }),
    { numRuns: 200 }
  );
});

test('a text larger than any block is read correctly', async () => {
  const all = `${'한😀é'.repeat(150_000)}end`;
  writeFileSync(path, all);
  const middle = await readSlice(path, 300_001, 100_000);
  expect(middle.text).toBe(all.slice(300_001, 400_001));
  const ends = await readEnds(path, 5000, 5000);
  expect(ends.head.length + ends.tail.length).toBeGreaterThan(9997);
  expect(all.endsWith(ends.tail) && all.startsWith(ends.head)).toBe(true);
});

test('bytes that are not UTF-8 are read as U+FFFD', async () => {
  writeFileSync(path, Buffer.from([0x61, 0xff, 0x62, 0xe2, 0x82]));
  expect(await readSlice(path, 0, 10)).toEqual({
    text: 'a�b�',
    totalChars: 4
  });
});

test('the tail is the last bytes, or the whole of a short file, or empty without one', () => {
  writeFileSync(path, 'abc한');
  expect(tailOf(path, 4)).toBe('c한');
  expect(tailOf(path, 100)).toBe('abc한');
  expect(tailOf(`${path}-not`, 100)).toBe('');
  expect(sizeOf(path)).toBe(6);
  expect(sizeOf(`${path}-not`)).toBe(0);
});

test('with a known length, the two ends are the same as in a full read', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'é', '한', '😀', '\n'), {
        minLength: 200,
        maxLength: 400
      }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 20 }),
      async (parts, headChars, tailChars) => {
        const all = parts.join('');
        writeFileSync(path, all);
        const slow = await readEnds(path, headChars, tailChars);
        const fast = await readEnds(path, headChars, tailChars, all.length);
        expect(fast).toEqual(slow);
      }
    ),
    { numRuns: 200 }
  );
});

test('a FIFO reads as empty, without waiting for its other end', () => {
  execFileSync('mkfifo', [path]);
  expect(tailOf(path, 100)).toBe('');
});
