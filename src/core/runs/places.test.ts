import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { Places } from './places.ts';
import {
  isStarting,
  noteReady,
  notStarting,
  setStarting
} from './run-files.ts';
import { RunStore } from './run-store.ts';

let workspace: TempWorkspace;
let store: RunStore;
let places: Places;
const processes = createProcesses('dist');
const capOf = (engine: string) => (engine === 'capped' ? 1 : undefined);

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
  places = new Places('cli', 2, { store, processes, capOf });
});
afterEach(() => workspace.remove());

function queued(agent_id: string, more: object = {}): void {
  const owner = processes.self;
  store.create(recordWith({ agent_id, owner, ...more }), 'x', 'x');
}

test('a place is wanted by another server as soon as one is queued there', () => {
  expect(places.areWanted(new Set())).toBe(false);
  queued('aaaaaaaa');
  expect(places.areWanted(new Set(['aaaaaaaa']))).toBe(false);
  expect(places.areWanted(new Set())).toBe(true);
});

test('who waits for its turn wants no place before that has come', () => {
  queued('aaaaaaaa', { comes_after: true });
  expect(places.areWanted(new Set())).toBe(false);
  noteReady(store.directoryOf('aaaaaaaa'));
  expect(places.areWanted(new Set())).toBe(true);
});

describe('an engine with one place', () => {
  const wants = (agent_id: string, engine: string) => ({ agent_id, engine });
  const taken = (agent_id: string, engine: string) => {
    queued(agent_id, { engine });
    setStarting(store.directoryOf(agent_id), true);
  };

  test('is announced when it is wanted, however long ago the folder was made', () => {
    for (const id of ['aaaaaaaa', 'bbbbbbbb']) queued(id, { engine: 'capped' });
    const directory = store.directoryOf('aaaaaaaa');
    utimesSync(join(directory, notStarting), 1, 1);
    setStarting(directory, true);
    expect(places.take(wants('bbbbbbbb', 'capped'), [])).toBe(
      'engine contended'
    );
  });

  test('says whether it is its own that has it, or a server elsewhere', () => {
    const ours = [wants('aaaaaaaa', 'capped')];
    queued('bbbbbbbb', { engine: 'capped' });
    const second = wants('bbbbbbbb', 'capped');
    expect(places.take(second, ours)).toBe('engine full');
    taken('cccccccc', 'capped');
    expect(places.take(second, [])).toBe('engine contended');
    expect(isStarting(store.directoryOf('bbbbbbbb'))).toBe(false);
  });

  test('leaves the others to others', () => {
    taken('aaaaaaaa', 'capped');
    queued('bbbbbbbb', { engine: 'other' });
    queued('cccccccc', { engine: 'other' });
    expect(places.areFree(['other'], [])).toBe(true);
    expect(places.areFree(['capped'], [])).toBe(false);
    expect(places.areFree(['other', 'other'], [])).toBe(false);
    const other = wants('bbbbbbbb', 'other');
    expect(places.take(other, [])).toBe('taken');
    expect(places.take(wants('cccccccc', 'other'), [other])).toBe('contended');
    expect(
      places.take(wants('cccccccc', 'other'), [other, wants('x', 'y')])
    ).toBe('full');
  });

  test('is not waited for by those of it while it is taken', () => {
    taken('aaaaaaaa', 'capped');
    queued('bbbbbbbb', { engine: 'capped' });
    expect(places.areWanted(new Set())).toBe(false);
    setStarting(store.directoryOf('aaaaaaaa'), false);
    expect(places.areWanted(new Set(['aaaaaaaa']))).toBe(true);
  });
});
