import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { processLiveness } from '../../../adapters/child-process/processes.ts';
import { isAwaited, noteWait } from './open-waits.ts';

let workspace: TempWorkspace;
let directory: string;

const processes = processLiveness();
const { self } = processes;
const record = recordWith({ agent_id: '1a2b3c4d', owner: self });

beforeEach(() => {
  workspace = createTempWorkspace();
  directory = join(workspace.path, 'servers');
});

afterEach(() => workspace.remove());

const awaited = (more = {}) =>
  isAwaited({ ...record, ...more }, directory, processes);

test('an agent is awaited from the call of its client until its answer', () => {
  expect(awaited()).toBe(false);
  const close = noteWait(directory, self, undefined, ['1a2b3c4d']);
  expect(awaited()).toBe(true);
  close();
  expect(awaited()).toBe(false);
  close();
});

test('a wait of another client or for another agent does not count', () => {
  noteWait(directory, self, undefined, ['5e6f7a8b']);
  noteWait(directory, self, 'another session', ['1a2b3c4d']);
  noteWait(directory, { ...self, start: 'another' }, undefined, ['1a2b3c4d']);
  writeFileSync(join(directory, 'wait-torn'), '{"server":');
  expect(awaited()).toBe(false);
  expect(awaited({ caller: { client: 'x', session: 'another session' } })).toBe(
    true
  );
});

test('the file of a killed process is removed', () => {
  const dead = { ...self, pid: 2 ** 22 + 1 };
  noteWait(directory, dead, undefined, ['1a2b3c4d']);
  expect(awaited({ owner: dead })).toBe(false);
  const waits = readdirSync(directory).filter((name) => /^wait/.test(name));
  expect(waits).toEqual([]);
});

test('a wait whose file cannot be written goes on without it', () => {
  writeFileSync(directory, 'no directory');
  noteWait(directory, self, undefined, ['1a2b3c4d'])();
  expect(awaited()).toBe(false);
});
