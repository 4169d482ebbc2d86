import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { markOf, replaceView, viewPath } from './view-file.ts';

const identity = { id: '0123abcd', user: 'me' };
const other = { id: 'ffffffff', user: 'me' };
const text = `# A view\n\n${markOf('IAC.md', 'IAC', identity)}\n`;

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'IAC.md');
});

afterEach(() => workspace.remove());

test('a view of this record is replaced, and a file of another program is renamed', async () => {
  await replaceView(path, [text], identity);
  await replaceView(path, [text, 'more\n'], identity);
  expect(readdirSync(workspace.path)).toEqual(['IAC.md']);
  for (const words of ['theirs', 'theirs too']) {
    writeFileSync(path, words);
    await replaceView(path, [text], identity);
  }
  const aside = (name: string) =>
    readFileSync(join(workspace.path, name), 'utf8');
  expect(aside('IAC.before-troupe.md')).toBe('theirs');
  expect(aside('IAC.before-troupe-2.md')).toBe('theirs too');
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test.each(['/dev/zero', '/nowhere', '.bashrc'])(
  'a link to %s is put aside as a link, and nothing is written through it',
  async (name) => {
    const target = join(name === '.bashrc' ? workspace.home : '/', name);
    if (name === '.bashrc') writeFileSync(target, text);
    symlinkSync(target, path);
    await replaceView(path, [text, 'more\n'], identity);
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe(`${text}more\n`);
    const aside = join(workspace.path, 'IAC.before-troupe.md');
    expect(readlinkSync(aside)).toBe(target);
    if (name === '.bashrc') expect(readFileSync(target, 'utf8')).toBe(text);
  }
);

test('a FIFO at the path of a view is renamed', async () => {
  execFileSync('mkfifo', [path]);
  await replaceView(path, [text], identity);
  expect(readFileSync(path, 'utf8')).toBe(text);
  const aside = join(workspace.path, 'IAC.before-troupe.md');
  expect(lstatSync(aside).isFIFO()).toBe(true);
});

test('a view of another record is kept, and the new view has the name of the user', async () => {
  const plain = viewPath(workspace.path, 'IAC', other);
  expect(plain).toBe(path);
  const theirs = `# Theirs\n\n${markOf(path, 'IAC', other)}\n`;
  await replaceView(path, [theirs], other);
  await replaceView(path, [text], identity);
  expect(readFileSync(path, 'utf8')).toBe(theirs);

  const ours = viewPath(workspace.path, 'IAC', identity);
  expect(ours).toBe(join(workspace.path, 'IAC.me.md'));
  const mark = markOf(ours, 'IAC', identity);
  expect(mark).toContain(
    '`IAC.md` in this folder was made from another record'
  );
  await replaceView(ours, [`# Ours\n\n${mark}\n`], identity);
  expect(viewPath(workspace.path, 'IAC', identity)).toBe(ours);
  // A third record of the same user has a different name.
  const third = { id: 'aaaaaaaa', user: 'me' };
  expect(viewPath(workspace.path, 'IAC', third)).toBe(
    join(workspace.path, 'IAC.me-aaaaaaaa.md')
  );
  rmSync(path);
  // An existing view of this record keeps its path.
  expect(viewPath(workspace.path, 'IAC', identity)).toBe(ours);
});

test('a log of an earlier version is renamed', async () => {
  writeFileSync(path, '# IAC\n\n> Written by troupe from `iac.jsonl`.\n');
  await replaceView(path, [text], identity);
  expect(readdirSync(workspace.path).sort()).toEqual([
    'IAC.before-troupe.md',
    'IAC.md'
  ]);
});
