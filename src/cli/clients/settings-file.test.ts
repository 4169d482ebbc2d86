import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
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
import { carryOut, linkOf, settingsIn, shortPath } from './settings-file.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const pathOf = (name: string) => join(workspace.path, name);

test.each([
  ['has changed', 'old', 'new'],
  ['was created meanwhile', undefined, 'new'],
  ['was removed meanwhile', 'old', undefined]
])('a file that %s is not overwritten', (_, before, now) => {
  const file = pathOf('.mcp.json');
  if (now !== undefined) writeFileSync(file, now);
  const change = { file, before, text: 'ours' };
  expect(() => carryOut(change, workspace.path)).toThrow(
    `${file} has changed since it was read.`
  );
  expect(settingsIn(file, workspace.path)).toBe(now);
});

test('a removed file takes its empty folder with it, but never the workspace', () => {
  for (const name of ['.codex/a', '.gemini/a', '.gemini/b', 'c'])
    workspace.write(name, 'x');
  for (const name of ['.codex/a', '.gemini/a', 'c'])
    carryOut(
      { file: pathOf(name), before: 'x', text: undefined },
      workspace.path
    );
  expect(readdirSync(workspace.path)).toEqual(['.gemini']);
  carryOut(
    { file: pathOf('.gemini/b'), before: 'x', text: undefined },
    workspace.path
  );
  expect(existsSync(workspace.path)).toBe(true);
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('no temporary file is left next to a file', () => {
  const file = pathOf('.cursor/mcp.json');
  carryOut({ file, before: undefined, text: 'a' }, workspace.path);
  carryOut({ file, before: 'a', text: 'b' }, workspace.path);
  expect(readFileSync(file, 'utf8')).toBe('b');
  expect(readdirSync(pathOf('.cursor'))).toEqual(['mcp.json']);
});

test('a file that could not be written back unchanged is not read', () => {
  writeFileSync(pathOf('latin'), Buffer.from([0x7b, 0xe4, 0x7d]));
  mkdirSync(pathOf('folder'));
  expect(() => settingsIn(pathOf('latin'), workspace.path)).toThrow(
    'is not UTF-8 text'
  );
  expect(() => settingsIn(pathOf('folder'), workspace.path)).toThrow(
    'is not a file'
  );
});

test('a path is shown relative to the project or the home directory', () => {
  expect(shortPath(pathOf('.codex/config.toml'), workspace.path)).toBe(
    '.codex/config.toml'
  );
  expect(shortPath('/etc/x', workspace.path)).toBe('/etc/x');
});

test('a file that cannot be written is reported with its path', () => {
  workspace.write('.codex', '');
  const file = pathOf('.codex/config.toml');
  const change = { file, before: undefined, text: 'a' };
  expect(() => carryOut(change, workspace.path)).toThrow(
    expect.objectContaining({
      code: 'storage_unwritable',
      message: `${file} cannot be written (EEXIST).`
    })
  );
});

test('the target of a link is shown, whether or not it exists', () => {
  const [file, target] = [pathOf('.codex/config.toml'), pathOf('other')];
  expect(linkOf(file)).toBe('');
  mkdirSync(target);
  symlinkSync('other', pathOf('.codex'));
  const shown = ` -> ${join(target, 'config.toml')}`;
  expect(linkOf(file)).toBe(shown);
  carryOut({ file, before: undefined, text: 'a' }, workspace.path);
  expect(linkOf(file)).toBe(shown);
});

// Only root can change the owner of a file.
test.runIf(process.getuid?.() === 0)(
  'a file that root changes keeps its owner and its mode',
  () => {
    const file = workspace.write('.mcp.json', 'old');
    chmodSync(file, 0o600);
    chownSync(file, 65534, 65533);
    carryOut({ file, before: 'old', text: 'new' }, workspace.path);
    const { uid, gid, mode } = statSync(file);
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({
      uid: 65534,
      gid: 65533,
      mode: 0o600
    });
  }
);
