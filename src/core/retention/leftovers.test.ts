import {
  existsSync,
  mkdirSync,
  readdirSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf } from '../../../test/kit/agents/made-up-agents.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { RunStore } from '../runs/run-store.ts';
import { queueTurn, turnsDirectory } from '../runs/sessions/session-turns.ts';
import { findLeftovers, removeFound } from './leftovers.ts';
import { Trash } from './trash.ts';

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});

afterEach(() => workspace.remove());

/** A session whose agents were removed. */
function leftSession(): string {
  const session = turnsDirectory('rehearsal', 'a-chat', store);
  mkdirSync(session, { recursive: true });
  writeFileSync(join(session, '1'), idOf(1));
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const path of [join(session, '1'), session])
    utimesSync(path, longAgo, longAgo);
  return session;
}

const clean = (meanwhile: () => void) => {
  const found = findLeftovers(store, [], (id) => store.has(id));
  expect(found.sessions).toHaveLength(1);
  meanwhile();
  const trash = new Trash(store.root, createProcesses('dist'));
  removeFound(found, store, trash);
  trash.close();
  expect(trash.leftovers()).toBe(0);
};

test('the turns of a session that no agent can continue are removed', () => {
  const session = leftSession();
  clean(() => undefined);
  expect(existsSync(session)).toBe(false);
});

test('the turns stay if an agent has reserved one since the check', () => {
  const session = leftSession();
  clean(() => void queueTurn('rehearsal', 'a-chat', idOf(2), store));
  expect(readdirSync(session)).toEqual(['1', '2']);
});
