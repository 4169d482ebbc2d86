import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { replaceView, viewMark } from './view-file.ts';

const text = `# A view\n\n${viewMark}.\n`;

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'IAC.md');
});

afterEach(() => workspace.remove());

test('a view of ours is replaced, what others wrote is put aside', async () => {
  await replaceView(path, [text]);
  await replaceView(path, [text, 'more\n']);
  expect(readdirSync(workspace.path)).toEqual(['IAC.md']);
  for (const words of ['theirs', 'theirs too']) {
    writeFileSync(path, words);
    await replaceView(path, [text]);
  }
  const aside = (name: string) =>
    readFileSync(join(workspace.path, name), 'utf8');
  expect(aside('IAC.before-troupe.md')).toBe('theirs');
  expect(aside('IAC.before-troupe-2.md')).toBe('theirs too');
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test.each(['/dev/zero', '/nowhere', '.bashrc'])(
  'a link to %s is put aside as it is, and nothing is written through it',
  async (name) => {
    const target = join(name === '.bashrc' ? workspace.home : '/', name);
    if (name === '.bashrc') writeFileSync(target, text);
    symlinkSync(target, path);
    await replaceView(path, [text, 'more\n']);
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe(`${text}more\n`);
    const aside = join(workspace.path, 'IAC.before-troupe.md');
    expect(readlinkSync(aside)).toBe(target);
    if (name === '.bashrc') expect(readFileSync(target, 'utf8')).toBe(text);
  }
);

test('a pipe in its place is put aside', async () => {
  execFileSync('mkfifo', [path]);
  await replaceView(path, [text]);
  expect(readFileSync(path, 'utf8')).toBe(text);
  const aside = join(workspace.path, 'IAC.before-troupe.md');
  expect(lstatSync(aside).isFIFO()).toBe(true);
});
