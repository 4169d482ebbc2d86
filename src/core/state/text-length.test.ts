import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { TextLength } from './text-length.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'text');
});

afterEach(() => workspace.remove());

/** Letters of one to four bytes, and parts of them, in any order. */
const bytes = fc
  .array(
    fc.oneof(
      fc.constantFrom('a\r\n', 'é', '한', '😀', '\ufeff', 'x'.repeat(20)),
      fc.uint8Array({ maxLength: 4 }),
      fc
        .tuple(fc.constantFrom('é', '한', '😀', 'ÿ'), fc.nat(3))
        .map(([letter, count]) => Buffer.from(letter).subarray(0, count))
    ),
    { maxLength: 40 }
  )
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part))));

/** Every character of UTF-8, as it is cut by blocks of any size. */
const blockBytes = fc.integer({ min: 4, max: 70 });

test('any bytes have as many characters as a decoder makes of them', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, blockBytes, async (all, size) => {
      writeFileSync(path, all);
      const length = new TextLength(path, size);
      expect(await length.read(true)).toBe(decoded(all));
      expect(length.offset).toBe(all.length);
    }),
    { numRuns: 1000 }
  );
});

test('a file that grows between two looks is counted as one read at its end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(bytes, { maxLength: 5 }),
      blockBytes,
      async (parts, size) => {
        writeFileSync(path, '');
        const length = new TextLength(path, size);
        for (const part of parts) {
          appendFileSync(path, part);
          await length.read();
          expect(length.chars).toBeLessThanOrEqual(
            decoded(Buffer.concat(parts))
          );
        }
        expect(await length.read(true)).toBe(decoded(Buffer.concat(parts)));
      }
    ),
    { numRuns: 300 }
  );
});

test.each([
  ['English', 'The quick brown fox jumps over it.\n'],
  ['other letters', 'Съешь ещё этих мягких булок. 敏捷的棕色狐狸 🦊\n'],
  ['no text at all', Buffer.from([0x61, 0xff, 0xc3, 0x80, 0xf0, 0x9f])]
])('megabytes of %s are counted', async (_name, piece) => {
  const all = Buffer.alloc(3_000_001, piece);
  writeFileSync(path, all);
  expect(await new TextLength(path).read(true)).toBe(decoded(all));
});

test('a file that is not there has no characters', async () => {
  expect(await new TextLength(path).read(true)).toBe(0);
});

function decoded(all: Buffer): number {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(all).length;
}
