import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { RunStore } from './run-store.ts';

const id = '0badcafe';

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});

afterEach(() => workspace.remove());

test('a spawn that others gave up meanwhile has its mark all the same', () => {
  const record = recordWith();
  // It is written down last: like a long pause before the folder is there.
  const toJSON = () => {
    store.giveUp(id);
    return record;
  };
  const paused = { ...record, toJSON };
  expect(store.create(paused, 'x', 'x')).toBe(true);
  expect(store.openIds()).toEqual([id]);
});

test('a spawn that was never answered is given up, others are not', () => {
  store.create(recordWith(), 'x', 'x');
  workspace.writeRecord('open/0000cafe', '');
  for (const one of store.openIds()) store.giveUp(one);
  expect(store.openIds()).toEqual([id]);
});

test('a run that was taken back and made anew is seen as it is now', () => {
  const other = new RunStore(workspace.record);
  store.create(recordWith({ task: 'first' }), 'x', 'x');
  expect(other.recordOf(id)?.task).toBe('first');
  store.discard(id);
  store.create(recordWith({ task: 'second' }), 'x', 'x');
  for (const one of [store, other])
    expect(one.recordOf(id)?.task).toBe('second');
});
