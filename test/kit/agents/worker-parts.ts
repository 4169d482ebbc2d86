import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import { EngineRegistry } from '../../../src/core/engines/engine-registry.ts';
import type { Terminal } from '../../../src/core/orchestrator/process/terminal.ts';
import type { ProcessParts } from '../../../src/core/orchestrator/process/worker-process.ts';
import type { WorkerStore } from '../../../src/core/orchestrator/queue/worker-store.ts';
import { workerInterface } from '../../../src/host/worker-brief.ts';
import type { WorkerOffice } from './worker-office.ts';

/** What the program of a worker is started with, on a terminal with one pane. */
export function partsOn(
  { workspace }: Pick<WorkerOffice, 'workspace'>,
  store: WorkerStore,
  id: string,
  { socket, closed }: { socket: string; closed: string[] }
): ProcessParts {
  const settings = {
    interface: workerInterface,
    server: { command: 'x', args: [] },
    configFile: undefined,
    isTrusted: false,
    workspace: workspace.path,
    maxAccess: 'full' as const,
    heartbeatSeconds: 60
  };
  return {
    ...{ settings, store, processes: createProcesses('dist') },
    registry: new EngineRegistry([], {}),
    terminal: terminalOn(id, socket, closed),
    onProblem: () => undefined
  };
}

/** A terminal with one pane of the worker; adds closed panes to `closed`. */
function terminalOn(id: string, socket: string, closed: string[]): Terminal {
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
