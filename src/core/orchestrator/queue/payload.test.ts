import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { storePayload } from './payload.ts';
import { WorkerFolder } from './worker-folder.ts';

let folder: WorkerFolder;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  folder = new WorkerFolder(workspace.paths, 'aaaaaaaa');
});

const stored = (file: string) =>
  readFileSync(join(folder.public, file), 'utf8');

test('without a payload, neither a value nor a file is stored', () => {
  expect(storePayload(undefined, folder)).toEqual({});
  expect(storePayload(null, folder)).toEqual({ payload: null });
});

test('a short payload is stored inline, and a long one in a file', () => {
  // 64 KiB with its two quotes.
  const longest = 'é'.repeat(32 * 1024 - 1);
  expect(storePayload(longest, folder)).toEqual({ payload: longest });
  const { payload, payload_file: file = '' } = storePayload(
    `${longest}x`,
    folder
  );
  expect(payload).toBeUndefined();
  expect(JSON.parse(stored(file))).toBe(`${longest}x`);
  expect(statSync(join(folder.public, file)).mode & 0o777).toBe(0o600);
});

test('each payload gets its own file, even after the artifacts were deleted', () => {
  const long = 'x'.repeat(70_000);
  const files = [1, 2, 3].map(() => storePayload(long, folder).payload_file);
  expect(new Set(files).size).toBe(3);
  rmSync(folder.artifacts, { recursive: true });
  storePayload(long, folder);
  const names = readdirSync(folder.artifacts);
  expect(names.filter((name) => name.startsWith('payload-'))).toHaveLength(1);
});

test('any JSON is read back unchanged, from a line or from a file', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.boolean(), (value, isLong) => {
      const whole = isLong ? [value, 'x'.repeat(70_000)] : value;
      const { payload, payload_file: file } = storePayload(whole, folder);
      const text = file === undefined ? JSON.stringify(payload) : stored(file);
      expect(text).toBe(JSON.stringify(whole));
      expect(file !== undefined).toBe(text.length > 65_536);
    }),
    { numRuns: 50 }
  );
});
