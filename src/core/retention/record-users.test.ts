import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { processLiveness } from '../../adapters/child-process/processes.ts';
import { markProcess } from '../state/locks/process-marks.ts';
import { useOf } from './record-users.ts';

const processes = processLiveness();
/** A process that has ended: no process has that start time. */
const gone = { ...processes.self, start: '1' };

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
});

const clause = () => useOf(workspace.record, processes)?.clause;

/** A folder of a program with this process, or an ended one, as supervisor. */
function addClaim(folder: string, { pid, start } = processes.self): void {
  workspace.writeRecord(join(folder, 'claim'), `${pid} ${start}\n\n`);
}

test('a record is in use by a server, and by nothing once that has ended', () => {
  expect(clause()).toBeUndefined();
  const unmark = markProcess(workspace.paths.servers, processes);
  expect(clause()).toBe('a server of troupe works with it');
  unmark();
  expect(clause()).toBeUndefined();
});

test('a record is in use by workers whose program runs', () => {
  addClaim('workers/11111111/start-1', gone);
  addClaim('workers/22222222/start-1', gone);
  expect(clause()).toBeUndefined();
  addClaim('workers/22222222/start-2');
  expect(clause()).toBe('worker 22222222 is at work');
});

test('a record is in use by agents that run, even if theirs are damaged', () => {
  for (const digit of [1, 2, 3]) {
    const id = String(digit).repeat(8);
    workspace.writeRecord(`open/${id}`, '');
    workspace.writeRecord(`spawns/${id}/record.json`, '{"v":1');
    addClaim(`spawns/${id}`, digit === 3 ? gone : processes.self);
  }
  addClaim('workers/44444444/start-1');
  expect(clause()).toBe(
    'agents 11111111, 22222222 and worker 44444444 are at work'
  );
});
