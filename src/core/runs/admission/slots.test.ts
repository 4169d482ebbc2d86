import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { RunStore } from '../run-store.ts';
import {
  isStarting,
  noteReady,
  notStarting,
  setStarting
} from '../start-marks.ts';
import { Slots } from './slots.ts';

let workspace: TempWorkspace;
let store: RunStore;
let slots: Slots;
const processes = createProcesses('dist');
const capOf = (engine: string) => (engine === 'capped' ? 1 : undefined);

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
  slots = new Slots('cli', () => 2, { store, processes, capOf });
});
afterEach(() => workspace.remove());

function queued(agent_id: string, more: object = {}): void {
  const owner = processes.self;
  store.create(recordWith({ agent_id, owner, ...more }), 'x', 'x');
}

test('another server requests a slot as soon as it has queued an agent', () => {
  expect(slots.areRequested(new Set())).toBe(false);
  queued('aaaaaaaa');
  expect(slots.areRequested(new Set(['aaaaaaaa']))).toBe(false);
  expect(slots.areRequested(new Set())).toBe(true);
});

test('an agent that waits for earlier agents requests no slot before they end', () => {
  queued('aaaaaaaa', { comes_after: true });
  expect(slots.areRequested(new Set())).toBe(false);
  noteReady(store.directoryOf('aaaaaaaa'));
  expect(slots.areRequested(new Set())).toBe(true);
});

describe('an engine with one slot', () => {
  const user = (agent_id: string, engine: string) => ({ agent_id, engine });
  const taken = (agent_id: string, engine: string) => {
    queued(agent_id, { engine });
    setStarting(store.directoryOf(agent_id), true);
  };

  test('dates an announcement from the request, not from the folder', () => {
    for (const id of ['aaaaaaaa', 'bbbbbbbb']) queued(id, { engine: 'capped' });
    const directory = store.directoryOf('aaaaaaaa');
    utimesSync(join(directory, notStarting), 1, 1);
    setStarting(directory, true);
    expect(slots.take(user('bbbbbbbb', 'capped'), [])).toBe('engine contended');
  });

  test('reports whether this server or another one uses the slot', () => {
    const ours = [user('aaaaaaaa', 'capped')];
    queued('bbbbbbbb', { engine: 'capped' });
    const second = user('bbbbbbbb', 'capped');
    expect(slots.take(second, ours)).toBe('engine full');
    taken('cccccccc', 'capped');
    expect(slots.take(second, [])).toBe('engine contended');
    expect(isStarting(store.directoryOf('bbbbbbbb'))).toBe(false);
  });

  test('leaves the other slots to other engines', () => {
    taken('aaaaaaaa', 'capped');
    queued('bbbbbbbb', { engine: 'other' });
    queued('cccccccc', { engine: 'other' });
    expect(slots.areFree(['other'], [])).toBe(true);
    expect(slots.areFree(['capped'], [])).toBe(false);
    expect(slots.areFree(['other', 'other'], [])).toBe(false);
    const other = user('bbbbbbbb', 'other');
    expect(slots.take(other, [])).toBe('taken');
    expect(slots.take(user('cccccccc', 'other'), [other])).toBe('contended');
    expect(slots.take(user('cccccccc', 'other'), [other, user('x', 'y')])).toBe(
      'full'
    );
  });

  test('has no queued agents that request a slot while its own is used', () => {
    taken('aaaaaaaa', 'capped');
    queued('bbbbbbbb', { engine: 'capped' });
    expect(slots.areRequested(new Set())).toBe(false);
    setStarting(store.directoryOf('aaaaaaaa'), false);
    expect(slots.areRequested(new Set(['aaaaaaaa']))).toBe(true);
  });
});
