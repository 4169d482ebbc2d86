import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { openOffice, type WorkerOffice } from '../../testing/worker-office.ts';
import { EngineRegistry } from '../engines/engine-registry.ts';
import type { Terminal } from './terminal.ts';
import { WorkerLaunch } from './worker-launch.ts';
import { WorkerStart } from './worker-start.ts';

const id = '0badcafe';

let office: WorkerOffice;

beforeEach(async () => {
  office = await openOffice();
});

afterEach(() => office.close());

/** A terminal on which the worker has one pane; tells which are closed. */
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
  ['that nobody could write down', '/its/socket', undefined],
  ['on another socket than the one before', '/old/socket', '/its/socket']
])('a pane is closed %s', async (_which, inMemory, written) => {
  office.hire(id);
  const store = office.reader();
  const processes = createProcesses('dist');
  const registry = new EngineRegistry([], {});
  const settings = {
    server: { command: 'x', args: [] },
    configFile: undefined,
    isTrusted: false,
    workspace: office.workspace.path,
    maxAccess: 'full' as const,
    heartbeatSeconds: 60
  };
  const closed: string[] = [];
  const start = new WorkerStart({
    processes,
    terminal: terminalOn('/its/socket', closed),
    store,
    launch: new WorkerLaunch({ registry, processes, store, settings }),
    onProblem: () => undefined
  });
  const worker = store.get(id);
  const pane = (socket: string) => ({ pane_id: '%7', socket });
  if (written) store.setMeta({ ...worker.meta, pane: pane(written) });
  const meta = { ...worker.meta, pane: pane(inMemory) };
  await start.closePane({ ...worker, meta });
  expect(closed).toEqual(['%7']);
});
