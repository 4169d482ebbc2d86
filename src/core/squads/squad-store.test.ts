import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { type Squad, SquadStore } from './squad-store.ts';

let workspace: TempWorkspace;
let store: SquadStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new SquadStore(workspace.record);
});
afterEach(() => workspace.remove());

function squadOf(squadId: string): Squad {
  return {
    v: 1,
    squadId,
    created_at: '2026-01-01T00:00:00.000Z',
    stateMode: 'stateless',
    members: [
      { memberId: `${squadId}-m1`, roleId: 'x', cwd: '.', agentId: '0badcafe' }
    ],
    metadata: { any: [null, { 'key é': 1 }] }
  };
}

test('a squad is found again, even by another server', () => {
  const squad = squadOf(store.newId());
  store.create(squad);
  expect(store.find(squad.squadId)).toEqual(squad);
  const other = new SquadStore(workspace.record);
  expect(other.find(squad.squadId)).toEqual(squad);
});

test('the file of a squad is private, in a folder that git ignores', () => {
  const squad = squadOf(store.newId());
  store.create(squad);
  const directory = workspace.record;
  const file = join(directory, 'squads', `${squad.squadId}.json`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const path = join(workspace.paths.home, '.gitignore');
  expect(readFileSync(path, 'utf8')).toBe('*\n');
});

test('a squad never overwrites another', () => {
  const squad = squadOf(store.newId());
  store.create(squad);
  const twin = { ...squad, members: [] };
  expect(() => store.create(twin)).toThrow(squad.squadId);
  expect(store.find(squad.squadId)).toEqual(squad);
});

test('a discarded squad is gone', () => {
  const squad = squadOf(store.newId());
  store.create(squad);
  store.discard(squad.squadId);
  expect(store.find(squad.squadId)).toBeUndefined();
});

test.each([
  'squad-00000000',
  'squad-0000000',
  'squad-0000000G',
  '',
  '../outside',
  'squad-../../x'
])('"%s" is not a squad', (squadId) => {
  workspace.write('outside.json', '{}');
  expect(store.find(squadId)).toBeUndefined();
});
