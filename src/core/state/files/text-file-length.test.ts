import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { TextLength } from './text-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'text');
});

afterEach(() => workspace.remove());

/** Characters of one to four bytes, and parts of them, in any order. */
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

/** Blocks of any size that holds a whole UTF-8 character. */
const blockBytes = fc.integer({ min: 4, max: 70 });

test('the count for any bytes equals the length of the decoded text', async () => {
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

test('a file that grows between two reads counts the same as in one read', async () => {
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
  ['other scripts', 'Съешь ещё этих мягких булок. 敏捷的棕色狐狸 🦊\n'],
  ['binary data', Buffer.from([0x61, 0xff, 0xc3, 0x80, 0xf0, 0x9f])]
])('megabytes of %s are counted', async (_name, piece) => {
  const all = Buffer.alloc(3_000_001, piece);
  writeFileSync(path, all);
  expect(await new TextLength(path).read(true)).toBe(decoded(all));
});

test('a missing file has no characters', async () => {
  expect(await new TextLength(path).read(true)).toBe(0);
});

function decoded(all: Buffer): number {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(all).length;
}
