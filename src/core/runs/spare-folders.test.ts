import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { Pace } from '../pace.ts';
import { isTemporary } from '../state/atomic-file.ts';
import { RunStore } from './run-store.ts';

const ids = ['0000000a', '0000000b', '0000000c', '0000000d'] as const;

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});

afterEach(() => workspace.remove());

function create(id: string): void {
  const words = `do ${id}`;
  store.create(recordWith({ agent_id: id, task: words }), words, words);
}

const spare = () => readdirSync(store.drafts).filter(isTemporary);

test('who spawns once leaves no folder for others', async () => {
  create(ids[0]);
  await store.spare.fill(new Pace());
  expect(spare()).toEqual([]);
});

test('folders laid out beforehand are as those made when they are needed', async () => {
  for (const id of ids.slice(0, 3)) create(id);
  await store.spare.fill(new Pace());
  expect(spare()).toHaveLength(2);
  create(ids[3]);
  expect(spare()).toHaveLength(1);
  const [first, last] = [ids[0], ids[3]].map((id) => store.directoryOf(id));
  expect(readdirSync(last ?? '')).toEqual(readdirSync(first ?? ''));
  expect(store.recordOf(ids[3])?.task).toBe(`do ${ids[3]}`);
});

test('folders that somebody has tidied away are missed by nobody', async () => {
  for (const id of ids.slice(0, 3)) create(id);
  await store.spare.fill(new Pace());
  for (const name of spare())
    rmSync(join(store.drafts, name), { recursive: true });
  create(ids[3]);
  expect(store.openIds()).toContain(ids[3]);
});

test('none is left behind, nor made any more, at the end', async () => {
  for (const id of ids) create(id);
  const filling = store.spare.fill(new Pace());
  store.spare.close();
  await filling;
  expect(spare()).toEqual([]);
});

test('what cannot be removed holds up nobody at the end', async () => {
  for (const id of ids) create(id);
  await store.spare.fill(new Pace());
  rmSync(store.drafts, { recursive: true });
  writeFileSync(store.drafts, 'a file in its place');
  expect(() => store.spare.close()).not.toThrow();
});
