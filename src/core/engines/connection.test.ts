import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { writeConnection } from './connection.ts';

let workspace: TempWorkspace;
let directory: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  directory = join(workspace.path, 'worker');
  mkdirSync(directory);
});

function theirs(name: string, text: string): void {
  const path = join(workspace.home, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
}

function read(name: string): string {
  return readFileSync(join(directory, name), 'utf8');
}

test('files and their folders are readable by their user only', () => {
  const files = { 'mcp.json': '{}', 'home/.x/settings.json': '한국어\n' };
  writeConnection(directory, { files });
  expect(read('home/.x/settings.json')).toBe('한국어\n');
  for (const name of Object.keys(files))
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  expect(statSync(join(directory, 'home')).mode & 0o777).toBe(0o700);
});

test('a linked folder holds the user’s files except for ours', () => {
  theirs('.x/settings.json', 'theirs');
  theirs('.x/login.json', 'login');
  theirs('.x/deep/mine.json', 'theirs');
  theirs('.x/deep/other.json', 'other');
  theirs('.x/history/one', '1');
  writeConnection(directory, {
    files: {
      'home/.x/settings.json': 'ours',
      'home/.x/deep/mine.json': 'ours'
    },
    links: { 'home/.x': join(workspace.home, '.x') }
  });
  expect(read('home/.x/settings.json')).toBe('ours');
  expect(read('home/.x/deep/mine.json')).toBe('ours');
  expect(read('home/.x/login.json')).toBe('login');
  expect(read('home/.x/deep/other.json')).toBe('other');
  // Shared with the user: the program's additions there reach the user.
  const history = join(directory, 'home/.x/history');
  expect(lstatSync(history).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(workspace.home, '.x/settings.json'), 'utf8')).toBe(
    'theirs'
  );
});

test('a link to a missing file of the user is left out', () => {
  const links = {
    'home/.env': join(workspace.home, '.env'),
    'home/.x': join(workspace.home, '.x')
  };
  writeConnection(directory, { links });
  expect(existsSync(join(directory, 'home'))).toBe(false);
});

test('a single file can be linked', () => {
  theirs('.env', 'KEY=1');
  writeConnection(directory, {
    links: { 'home/.env': join(workspace.home, '.env') }
  });
  expect(read('home/.env')).toBe('KEY=1');
});

test('a connection without files creates nothing', () => {
  writeConnection(directory, {});
  expect(existsSync(join(directory, 'home'))).toBe(false);
});

test('nothing is ever written into a folder of the user', () => {
  theirs('one/mine.txt', 'theirs');
  theirs('two/inner/theirs.txt', 'theirs');
  theirs('three.txt', 'theirs');
  const links = {
    home: join(workspace.home, 'two'),
    'home/inner': join(workspace.home, 'one'),
    'home/inner/deep': join(workspace.home, 'three.txt')
  };
  for (const order of [
    links,
    Object.fromEntries(Object.entries(links).reverse())
  ]) {
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
    writeConnection(directory, { links: order });
    expect(readdirSync(join(workspace.home, 'one'))).toEqual(['mine.txt']);
    expect(readdirSync(join(workspace.home, 'two'))).toEqual(['inner']);
    expect(readdirSync(join(workspace.home, 'two/inner'))).toEqual([
      'theirs.txt'
    ]);
    expect(read('home/inner/mine.txt')).toBe('theirs');
    expect(read('home/inner/deep')).toBe('theirs');
  }
});

test('a nested link never merges two folders of the user', () => {
  theirs('one/mine.txt', 'theirs');
  theirs('two/inner/theirs.txt', 'theirs');
  const links = {
    home: join(workspace.home, 'two'),
    'home/inner': join(workspace.home, 'one')
  };
  writeConnection(directory, { files: { 'home/own': 'ours' }, links });
  expect(readdirSync(join(workspace.home, 'one'))).toEqual(['mine.txt']);
  expect(readdirSync(join(directory, 'home/inner'))).toEqual(['mine.txt']);
});
