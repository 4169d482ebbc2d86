import { existsSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { RunStore } from './run-store.ts';

const id = '0badcafe';

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});

afterEach(() => workspace.remove());

test('a spawn that another server has given up still gets its mark', () => {
  const record = recordWith();
  // The record is written last: this simulates a pause before the rename.
  const toJSON = () => {
    store.giveUp(id);
    return record;
  };
  const paused = { ...record, toJSON };
  expect(store.create(paused, 'x', 'x')).toBe(true);
  expect(store.openIds()).toEqual([id]);
});

test('a spawn whose id is in use leaves the open run its mark', () => {
  store.create(recordWith(), 'x', 'x');
  expect(store.create(recordWith(), 'y', 'y')).toBe(false);
  const toJSON = () => {
    throw new Error('The disk is full.');
  };
  const failing = { ...recordWith(), toJSON };
  expect(() => store.create(failing, 'y', 'y')).toThrow('full');
  expect(store.openIds()).toEqual([id]);
});

test('giving up a spawn removes only a mark without a folder', () => {
  store.create(recordWith(), 'x', 'x');
  workspace.writeRecord('open/0000cafe', '');
  for (const one of store.openIds()) store.giveUp(one);
  expect(store.openIds()).toEqual([id]);
});

test('a run that begins and ends while its mark is given up keeps the mark', () => {
  const other = new RunStore(workspace.record);
  /** Another server creates the run right after this one looked for it. */
  class Late extends RunStore {
    override close(agentId: string) {
      super.close(agentId);
      other.create(recordWith(), 'x', 'x', outcomeWith({}));
      other.close(agentId);
    }
  }
  workspace.writeRecord(`open/${id}`, '');
  new Late(workspace.record).giveUp(id);
  expect(store.openIds()).toEqual([id]);
});

test('a spawn is given up a minute after it was first found, whatever the clock says', () => {
  workspace.writeRecord(`open/${id}`, '');
  utimesSync(join(workspace.record, 'open', id), 1, 1);
  const marksAfter = (seconds: number) => {
    store.giveUpUnused(id, 5000 + seconds * 1000);
    return store.openIds();
  };
  expect(marksAfter(0)).toEqual([id]);
  expect(marksAfter(60)).toEqual([id]);
  expect(marksAfter(61)).toEqual([]);
  // A later spawn of the same request has a minute, too.
  workspace.writeRecord(`open/${id}`, '');
  expect(marksAfter(100)).toEqual([id]);
  expect(marksAfter(160)).toEqual([id]);
  expect(marksAfter(161)).toEqual([]);
});

test('a mark whose folder is lost later has a minute from then on', () => {
  workspace.writeRecord(`open/${id}`, '');
  store.giveUpUnused(id, 0);
  const other = new RunStore(workspace.record);
  other.create(recordWith(), 'x', 'x');
  expect(store.recordOf(id)).toBeDefined();
  rmSync(store.directoryOf(id), { recursive: true });
  expect(store.recordOf(id)).toBeUndefined();
  store.giveUpUnused(id, 61_000);
  expect(store.openIds()).toEqual([id]);
  store.giveUpUnused(id, 122_000);
  expect(store.openIds()).toEqual([]);
});

test('a run that was discarded and created again is read from disk again', () => {
  const other = new RunStore(workspace.record);
  store.create(recordWith({ task: 'first' }), 'x', 'x');
  expect(other.recordOf(id)?.task).toBe('first');
  store.discard(id);
  store.create(recordWith({ task: 'second' }), 'x', 'x');
  for (const one of [store, other])
    expect(one.recordOf(id)?.task).toBe('second');
});

test('what a program gets on stdin is on disk only if it is not the prompt', () => {
  store.create(recordWith(), 'Do it.', '{"prompt":"Do it."}');
  const other = recordWith({ agent_id: '1badcafe' });
  store.create(other, 'Do it.', 'Do it.');
  const [first, second] = [id, other.agent_id].map((one) => {
    const directory = store.directoryOf(one);
    return ['prompt.txt', 'stdin'].map((name) =>
      existsSync(join(directory, name))
        ? readFileSync(join(directory, name), 'utf8')
        : undefined
    );
  });
  expect(first).toEqual(['Do it.', '{"prompt":"Do it."}']);
  expect(second).toEqual(['Do it.', undefined]);
});
