import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { readPart } from './text-part.ts';

let workspace: TempWorkspace;
let path: string;
beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'text');
});
afterEach(() => workspace.remove());

const text = fc.string({ unit: fc.constantFrom('a', 'é', '日', '😀', '\n') });

test('parts of any size add up to the text', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 4, max: 40 }), (whole, bytes) => {
      writeFileSync(path, whole);
      let found = '';
      let offset: number | null = 0;
      while (offset !== null) {
        const part: ReturnType<typeof readPart> = readPart(path, offset, {
          bytes
        });
        found += part?.text;
        offset = part?.next_offset ?? null;
      }
      expect(found).toBe(whole);
    }),
    { numRuns: 200 }
  );
});

test('the end of a text begins with a whole character', () => {
  writeFileSync(path, 'é日😀x');
  expect(readPart(path, -3)).toMatchObject({ text: 'x', next_offset: null });
  expect(readPart(path, -100)).toMatchObject({ text: 'é日😀x', offset: 0 });
});

test('control characters are made visible', () => {
  writeFileSync(path, 'a\u001b[31mred\u001b[0m\u202e\u0007');
  expect(readPart(path, 0)?.text).toBe('ared\\u202e');
});

test('a file that is not there has no part', () => {
  expect(readPart(path, 0)).toBeUndefined();
});
