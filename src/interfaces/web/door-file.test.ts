import {
  chmodSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import {
  type DoorFile,
  readDoorFile,
  removeDoorFile,
  writeDoorFile
} from './door-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'folder', 'door.json');
});

afterEach(() => workspace.remove());

const door: DoorFile = {
  ...{ v: 1, host: '127.0.0.1', port: 8080, secret: 's'.repeat(43) }
};

test('a door file is read back, and only its user can read it', () => {
  writeDoorFile(path, door);
  expect(readDoorFile(path)).toEqual(door);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test.each([0o640, 0o604, 0o620, 0o602])(
  'a file with mode %o is not believed',
  (mode) => {
    writeDoorFile(path, door);
    chmodSync(path, mode);
    expect(readDoorFile(path)).toBeUndefined();
  }
);

test.each([
  ['not JSON', '{'],
  ['of another version', JSON.stringify({ ...door, v: 2 })],
  ['without a port', JSON.stringify({ ...door, port: 0 })],
  ['with a port above all', JSON.stringify({ ...door, port: 65_536 })],
  ['with another secret', JSON.stringify({ ...door, secret: 'short' })]
])('a file that is %s is no door file', (_, text) => {
  writeDoorFile(path, door);
  writeFileSync(path, text);
  expect(readDoorFile(path)).toBeUndefined();
});

test('a missing file and a link are no door file', () => {
  expect(readDoorFile(path)).toBeUndefined();
  writeDoorFile(path, door);
  const link = join(workspace.path, 'link');
  symlinkSync(path, link);
  expect(readDoorFile(link)).toBeUndefined();
});

test('a server removes its own file, and leaves that of a later one', () => {
  writeDoorFile(path, door);
  removeDoorFile(path, { ...door, secret: 't'.repeat(43) });
  expect(readDoorFile(path)).toEqual(door);
  removeDoorFile(path, door);
  expect(() => readFileSync(path)).toThrow('ENOENT');
});

test('a file that cannot be written is an error for the user', () => {
  workspace.write('folder', '');
  expect(() => writeDoorFile(path, door)).toThrow(
    expect.objectContaining({ code: 'storage_unwritable' })
  );
});
