import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../testing/temp-workspace.ts';
import { placed } from './payload.ts';
import { WorkerFolder } from './worker-folder.ts';

let folder: WorkerFolder;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  folder = new WorkerFolder(workspace.paths, 'aaaaaaaa');
});

const kept = (file: string) => readFileSync(join(folder.public, file), 'utf8');

test('without a payload there is neither one nor a file', () => {
  expect(placed(undefined, folder)).toEqual({});
  expect(placed(null, folder)).toEqual({ payload: null });
});

test('what fits stands in the line, and what does not in a file', () => {
  // With its two quotes, 64 KiB.
  const longest = 'é'.repeat(32 * 1024 - 1);
  expect(placed(longest, folder)).toEqual({ payload: longest });
  const { payload, payload_file: file = '' } = placed(`${longest}x`, folder);
  expect(payload).toBeUndefined();
  expect(JSON.parse(kept(file))).toBe(`${longest}x`);
  expect(statSync(join(folder.public, file)).mode & 0o777).toBe(0o600);
});

test('each has a file of its own, in artifacts that may have been cleared', () => {
  const long = 'x'.repeat(70_000);
  const files = [1, 2, 3].map(() => placed(long, folder).payload_file);
  expect(new Set(files).size).toBe(3);
  rmSync(folder.artifacts, { recursive: true });
  placed(long, folder);
  const names = readdirSync(folder.artifacts);
  expect(names.filter((name) => name.startsWith('payload-'))).toHaveLength(1);
});

test('any JSON comes back as it was, from a line or from a file', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.boolean(), (value, isLong) => {
      const whole = isLong ? [value, 'x'.repeat(70_000)] : value;
      const { payload, payload_file: file } = placed(whole, folder);
      const text = file === undefined ? JSON.stringify(payload) : kept(file);
      expect(text).toBe(JSON.stringify(whole));
      expect(file !== undefined).toBe(text.length > 65_536);
    }),
    { numRuns: 50 }
  );
});
