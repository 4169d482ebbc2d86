import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { workerInterface } from '../../../host/worker-brief.ts';
import { EngineRegistry } from '../../engines/engine-registry.ts';
import type { Terminal } from './terminal.ts';
import { WorkerProcess } from './worker-process.ts';

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

test.each([
  ['that could not be recorded', '/its/socket', undefined],
  ['on another socket than before', '/old/socket', '/its/socket']
])('a pane is closed %s', async (_which, inMemory, stored) => {
  office.hire(id);
  const store = office.reader();
  const processes = createProcesses('dist');
  const registry = new EngineRegistry([], {});
  const settings = {
    interface: workerInterface,
    server: { command: 'x', args: [] },
    configFile: undefined,
    isTrusted: false,
    workspace: office.workspace.path,
    maxAccess: 'full' as const,
    heartbeatSeconds: 60
  };
  const closed: string[] = [];
  const program = new WorkerProcess({
    ...{ processes, registry, settings, store },
    terminal: terminalOn('/its/socket', closed),
    onProblem: () => undefined
  });
  const worker = store.get(id);
  const pane = (socket: string) => ({ pane_id: '%7', socket });
  if (stored) store.setMeta({ ...worker.meta, pane: pane(stored) });
  const meta = { ...worker.meta, pane: pane(inMemory) };
  await program.closePane({ ...worker, meta });
  expect(closed).toEqual(['%7']);
});
