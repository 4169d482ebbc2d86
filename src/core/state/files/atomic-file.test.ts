import { spawn } from 'node:child_process';
import {
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
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import {
  createOnce,
  readIfExists,
  remove,
  removeLeftovers,
  replaceFile,
  writeNew
} from './atomic-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'file');
});

afterEach(() => workspace.remove());

const names = () => readdirSync(workspace.path);

test('a new file is complete, private, and replaces no other file', () => {
  writeNew(path, 'one', true);
  expect(() => writeNew(path, 'two')).toThrow(/EEXIST/);
  expect(readFileSync(path, 'utf8')).toBe('one');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a new file does not follow a link in its place', () => {
  symlinkSync(join(workspace.home, 'elsewhere'), path);
  expect(() => writeNew(path, 'x')).toThrow(/EEXIST/);
  expect(createOnce(path, 'x')).toBe(false);
  expect(existsSync(join(workspace.home, 'elsewhere'))).toBe(false);
});

test('a file is replaced by the new one, and a link is replaced, not followed', () => {
  const target = join(workspace.home, 'target');
  writeFileSync(target, 'kept');
  symlinkSync(target, path);
  replaceFile(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(readFileSync(target, 'utf8')).toBe('kept');
  expect(names()).toEqual(['file']);
});

test('a failed replacement leaves the old file and no other', () => {
  mkdirSync(path);
  writeFileSync(join(path, 'inside'), 'old');
  expect(() => replaceFile(path, 'new')).toThrow(/EISDIR|ENOTEMPTY/);
  expect(readFileSync(join(path, 'inside'), 'utf8')).toBe('old');
  expect(names()).toEqual(['file']);
});

test('createOnce returns true to the first caller only', () => {
  expect(createOnce(path, 'first')).toBe(true);
  expect(createOnce(path, 'second')).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('first');
  expect(names()).toEqual(['file']);
});

test('createOnce throws where no file can be created', () => {
  expect(() => createOnce(join(path, 'below'), 'x')).toThrow(/ENOENT/);
});

test('of eight processes exactly one creates each file', async () => {
  const module = join(import.meta.dirname, 'atomic-file.ts');
  const racer = join(workspace.path, 'racer.mjs');
  const built = join(workspace.path, 'atomic-file.mjs');
  const { rolldown } = await import('rolldown');
  const build = await rolldown({ input: module, platform: 'node' });
  await build.write({ file: built, format: 'esm' });
  await build.close();
  const rounds = 60;
  writeFileSync(
    racer,
    `import { createOnce } from './atomic-file.mjs';
     process.send('ready');
     process.on('message', (round) => {
       const text = process.pid + ' '.repeat(100_000) + process.pid;
       process.send({ round, won: createOnce('race-' + round, text) });
     });`
  );
  const racers = Array.from({ length: 8 }, () =>
    spawn(process.execPath, [racer], {
      cwd: workspace.path,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
  );
  const said = (child: (typeof racers)[0]) =>
    new Promise<unknown>((resolve) => child.once('message', resolve));
  await Promise.all(racers.map(said));

  for (let round = 0; round < rounds; round += 1) {
    const answers = Promise.all(racers.map(said));
    for (const child of racers) child.send(round);
    const won = (await answers).map((answer) => Object(answer).won === true);
    expect(won.filter(Boolean)).toHaveLength(1);
    const winner = racers[won.indexOf(true)];
    const text = readFileSync(join(workspace.path, `race-${round}`), 'utf8');
    expect(text.split(/ +/)).toEqual([`${winner?.pid}`, `${winner?.pid}`]);
  }
  for (const child of racers) child.disconnect();
  expect(names().filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('reading a missing file returns undefined, and removing it is no error', () => {
  expect(readIfExists(path)).toBeUndefined();
  writeFileSync(path, '');
  expect(readIfExists(path)).toBe('');
  expect(readIfExists(join(path, 'below'))).toBeUndefined();
  remove(path);
  remove(path);
  expect(existsSync(path)).toBe(false);
  expect(() => readIfExists(workspace.path)).toThrow(/EISDIR/);
  // A read of this device never ends.
  expect(() => readIfExists('/dev/zero')).toThrow(/is not a file/);
});

test('a file that a living process writes is kept for a day, whatever the clock says', async () => {
  const child = spawn('true');
  await new Promise((resolve) => child.once('exit', resolve));
  const left = `x.${child.pid}.0123456789ab.tmp`;
  const mine = `x.${process.pid}.0123456789ab.tmp`;
  for (const name of [left, mine, 'x.tmp'])
    writeFileSync(join(workspace.path, name), '');
  removeLeftovers(workspace.path);
  expect(names()).toHaveLength(3);
  removeLeftovers(workspace.path, Date.now() + 3_600_000);
  expect(names().toSorted()).toEqual([mine, 'x.tmp'].toSorted());
  // Pids are reused, so after a day the file counts as a leftover.
  removeLeftovers(workspace.path, Date.now() + 86_460_000);
  expect(names()).toEqual(['x.tmp']);
});
