import {
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { RoleRepository } from './role-repository.ts';

let workspace: TempWorkspace;
let roles: RoleRepository;
/** Ids of the faults in the order in which they were reported. */
let reported: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  reported = [];
  const [builtin = '', own = ''] = ['package', 'agents'].map(at);
  for (const directory of [builtin, own]) mkdirSync(directory);
  roles = new RoleRepository({ builtin, own }, ({ id }) => reported.push(id));
});

afterEach(() => workspace.remove());

const at = (name: string) => join(workspace.path, name);

const broken = '---\nname: a: b\n---\nYou test.\n';

async function bodies(): Promise<Record<string, string>> {
  const list = await roles.all();
  return Object.fromEntries(list.roles.map(({ id, body }) => [id, body]));
}

/** Sets the times of a file that has not changed for a day. */
function aged(file: string): void {
  const yesterday = new Date(Date.now() - 86_400_000);
  utimesSync(file, yesterday, yesterday);
}

test('added, changed and removed files count at the next call', async () => {
  expect(await bodies()).toEqual({});
  const file = workspace.write('agents/a.md', 'One.');
  workspace.write('agents/b.md', 'Stays.');
  expect(await bodies()).toEqual({ a: 'One.', b: 'Stays.' });
  workspace.write('agents/a.md', 'One and two.');
  expect(await bodies()).toEqual({ a: 'One and two.', b: 'Stays.' });
  renameSync(file, at('agents/c.md'));
  expect(await bodies()).toEqual({ b: 'Stays.', c: 'One and two.' });
  rmSync(at('agents/c.md'));
  expect(await bodies()).toEqual({ b: 'Stays.' });
  rmSync(at('agents'), { recursive: true });
  expect(await bodies()).toEqual({});
});

test('no change is missed, however fast and whatever its size', async () => {
  const file = at('agents/a.md');
  for (let round = 1000; round < 1500; round += 1) {
    writeFileSync(file, `Round ${round}.`);
    expect(await bodies()).toEqual({ a: `Round ${round}.` });
  }
});

test('a change that keeps size and time of the file counts', async () => {
  const file = workspace.write('agents/a.md', 'One.');
  aged(file);
  const { mtime } = statSync(file);
  expect(await bodies()).toEqual({ a: 'One.' });
  writeFileSync(file, 'Two.');
  utimesSync(file, mtime, mtime);
  expect(await bodies()).toEqual({ a: 'Two.' });
});

test('a replaced file counts', async () => {
  workspace.write('agents/a.md', 'One.');
  expect(await bodies()).toEqual({ a: 'One.' });
  renameSync(workspace.write('draft', 'Two.'), at('agents/a.md'));
  expect(await bodies()).toEqual({ a: 'Two.' });
});

test('a fault is reported once for each state of its file', async () => {
  workspace.write('agents/a.md', broken);
  workspace.write('agents/b.md', 'Fine.');
  for (const _ of Array(3)) expect(await bodies()).toEqual({ b: 'Fine.' });
  expect(reported).toEqual(['a']);
  workspace.write('agents/a.md', `${broken}More.`);
  await bodies();
  await bodies();
  expect(reported).toEqual(['a', 'a']);
});

test('touching a broken file does not report its fault again', async () => {
  const file = workspace.write('agents/a.md', broken);
  await bodies();
  aged(file);
  await bodies();
  expect(reported).toEqual(['a']);
});

test('a repaired fault is gone, and is reported again when it comes back', async () => {
  workspace.write('agents/a.md', broken);
  expect((await roles.all()).faults).toHaveLength(1);
  workspace.write('agents/a.md', 'Repaired.');
  expect(await roles.all()).toMatchObject({
    roles: [{ id: 'a', body: 'Repaired.' }],
    faults: []
  });
  workspace.write('agents/a.md', broken);
  expect((await roles.all()).faults).toHaveLength(1);
  expect(reported).toEqual(['a', 'a']);
});

test('concurrent calls report a fault once', async () => {
  workspace.write('agents/a.md', broken);
  const lists = await Promise.all([roles.all(), roles.all(), roles.all()]);
  for (const { faults } of lists) expect(faults).toHaveLength(1);
  expect(reported).toEqual(['a']);
});

test('changing a result does not change later results', async () => {
  workspace.write('agents/a.md', 'One.');
  const first = await roles.all();
  for (const role of first.roles) role.body = 'Spoiled.';
  first.roles.length = 0;
  expect(await bodies()).toEqual({ a: 'One.' });
});
