import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { readContextFiles } from './context-files.ts';

let workspace: TempWorkspace;
const inside = (...paths: string[]) => readContextFiles(workspace.path, paths);

beforeAll(() => {
  workspace = createTempWorkspace();
  workspace.write('a.txt', 'a\n');
  workspace.write('sub/ü.txt', 'Grüße\n');
  workspace.write('api_keys.json', '{"XAI_API_KEY":"x"}');
  workspace.write('sub/API_KEYS.json', '{"XAI_API_KEY":"x"}');
  workspace.write('large.txt', 'x'.repeat(250_000));
  workspace.write('also-large.txt', 'x'.repeat(250_000));
  mkdirSync(join(workspace.path, 'folder'));
  writeFileSync(join(workspace.path, 'binary'), Buffer.from([65, 0, 66]));
  writeFileSync(join(workspace.path, 'latin1'), Buffer.from([0xfc, 0x65]));
  symlinkSync('/etc/hostname', join(workspace.path, 'link-out'));
  symlinkSync('a.txt', join(workspace.path, 'link-in'));
  symlinkSync('api_keys.json', join(workspace.path, 'innocent.txt'));
});

afterAll(() => workspace.remove());

test('files come whole, in order, once each', () => {
  const again = ['sub/ü.txt', './a.txt', 'link-in'];
  expect(inside('sub/ü.txt', 'a.txt', ...again)).toEqual([
    { path: 'sub/ü.txt', text: 'Grüße\n' },
    { path: 'a.txt', text: 'a\n' }
  ]);
});

test('an absolute path and a link inside the workspace are followed', () => {
  const file = { path: 'a.txt', text: 'a\n' };
  expect(inside(join(workspace.path, 'a.txt'))).toEqual([file]);
  expect(inside('link-in')).toEqual([file]);
});

test.each([
  ['../x', /is no file inside/],
  ['/etc/hostname', /is no file inside/],
  ['link-out', /is no file inside/],
  ['missing', /is no file inside/],
  ['folder', /is no file inside/],
  ['nul\0name', /is no file inside/],
  ['api_keys.json', /holds keys/],
  ['innocent.txt', /holds keys/],
  ['sub/API_KEYS.json', /holds keys/],
  ['binary', /is no UTF-8 text/],
  ['latin1', /is no UTF-8 text/]
])('%j is refused by name', (path, reason) => {
  expect(() => inside('a.txt', path)).toThrow(reason);
});

test('more than fits is refused at the file that is too much', () => {
  expect(() => inside('large.txt', 'also-large.txt')).toThrow(
    /"also-large.txt" is too much/
  );
});
