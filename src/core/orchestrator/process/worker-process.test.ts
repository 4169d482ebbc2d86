import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { workerInterface } from '../../../host/worker-brief.ts';
import { EngineRegistry } from '../../engines/engine-registry.ts';
import type { WorkerStore } from '../queue/worker-store.ts';
import { LostWorkers } from './lost-workers.ts';
import type { Terminal } from './terminal.ts';
import { type ProcessParts, WorkerProcess } from './worker-process.ts';

const id = '0badcafe';

let office: WorkerOffice;

beforeEach(async () => {
  office = await openOffice();
});

afterEach(() => office.close());

/** A terminal with one pane of the worker; adds closed panes to `closed`. */
function terminalOn(socket: string, closed: string[]): Terminal {
  const state = { isDead: false, isHere: true };
  const pane = { agentId: id, paneId: '%7', socket, ...state };
  const never = () => Promise.reject(new Error('not in this test'));
  return {
    open: never,
    launch: never,
    paste: never,
    screen: never,
    panes: (sockets) => Promise.resolve(sockets.includes(socket) ? [pane] : []),
    close: (one) => {
      closed.push(one.paneId);
      return Promise.resolve();
    }
  };
}

/** What programs are started with, on a terminal with one pane. */
function partsOn(
  socket: string,
  store: WorkerStore,
  closed: string[]
): ProcessParts {
  const settings = {
    interface: workerInterface,
    server: { command: 'x', args: [] },
    configFile: undefined,
    isTrusted: false,
    workspace: office.workspace.path,
    maxAccess: 'full' as const,
    heartbeatSeconds: 60
  };
  return {
    ...{ settings, store, processes: createProcesses('dist') },
    registry: new EngineRegistry([], {}),
    terminal: terminalOn(socket, closed),
    onProblem: () => undefined
  };
}

const paneOn = (socket: string) => ({ pane_id: '%7', socket });

test.each([
  ['that could not be recorded', '/its/socket', undefined],
  ['on another socket than before', '/old/socket', '/its/socket']
])('a pane is closed %s', async (_which, inMemory, stored) => {
  office.hire(id);
  const store = office.reader();
  const closed: string[] = [];
  const program = new WorkerProcess(partsOn('/its/socket', store, closed));
  const worker = store.get(id);
  if (stored) store.setMeta({ ...worker.meta, pane: paneOn(stored) });
  const meta = { ...worker.meta, pane: paneOn(inMemory) };
  await program.closePane({ ...worker, meta });
  expect(closed).toEqual(['%7']);
});

test('the pane of a worker whose record was removed is closed', async () => {
  office.hire(id);
  const store = office.reader();
  const closed: string[] = [];
  const parts = partsOn('/its/socket', store, closed);
  const lost = new LostWorkers(parts, new WorkerProcess(parts));
  const { meta, folder } = store.get(id);
  store.setMeta({ ...meta, pane: paneOn('/its/socket') });
  // The supervisor has ended: no process has this number.
  writeFileSync(join(folder.start(1), 'claim'), '99999999 0\n\n');
  lost.note(store.get(id));
  rmSync(folder.private, { recursive: true });
  await lost.end(id);
  expect(closed).toEqual(['%7']);
  expect(() => store.get(id)).toThrow(/its program was ended/);
});
