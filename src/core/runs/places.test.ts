import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { Places } from './places.ts';
import { noteReady } from './run-files.ts';
import { RunStore } from './run-store.ts';

let workspace: TempWorkspace;
let store: RunStore;
let places: Places;
const processes = createProcesses('dist');

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(join(workspace.path, '.agents'));
  places = new Places('cli', 2, { store, processes });
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
