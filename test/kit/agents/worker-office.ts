import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { EngineRegistry } from '../../../src/core/engines/engine-registry.ts';
import { guardEngine } from '../../../src/core/engines/load/guard-engine.ts';
import type { Orchestrator } from '../../../src/core/orchestrator/orchestrator.ts';
import { WorkerMailbox } from '../../../src/core/orchestrator/queue/worker-mailbox.ts';
import { WorkerStore } from '../../../src/core/orchestrator/queue/worker-store.ts';
import { claimNeverStarts } from '../../../src/core/runs/run-files.ts';
import { setStarting } from '../../../src/core/runs/start-marks.ts';
import { RoleRepository } from '../../../src/core/squads/role-repository.ts';
import { ensureDirectory } from '../../../src/core/state/files/directories.ts';
import { distDirectory } from '../../../src/host/package.ts';
import {
  termsOf,
  wireOrchestrator
} from '../../../src/host/wiring-orchestrator.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../workspaces/temp-workspace.ts';

/**
 * An orchestrator within a test, on real files, and what workers are spoken
 * to by. The worker itself is the test.
 */
export interface WorkerOffice {
  workspace: TempWorkspace;
  /** As many as there are masters. */
  master: () => Orchestrator;
  /** A worker on disk, whose program is just about to start. */
  hire: (agentId: string) => void;
  /** Its program is gone. */
  lose: (agentId: string) => void;
  /** As the server of a worker has it. */
  desk: (agentId: string) => WorkerMailbox;
  /** The workers as a new client reads them. */
  reader: () => WorkerStore;
  /** The lines of a file of a worker, parsed. */
  lines: (agentId: string, file: 'inbox' | 'outbox') => Line[];
  broadcast: () => Line[];
  close: () => void;
}

export interface Line {
  seq: number;
  type: string;
  task_id?: string;
  agent_id?: string;
  done?: true;
  by?: 'troupe';
  payload?: unknown;
  payload_file?: string;
}

export const runId = '0123abcd';

export async function openOffice(
  orchestrator: object = {},
  engines: object[] = []
): Promise<WorkerOffice> {
  const workspace = createTempWorkspace();
  const settings = { backend: 'process', engine: 'mine', ...orchestrator };
  workspace.write('.trouperc.json', JSON.stringify({ orchestrator: settings }));
  const config = await loadConfig(
    { workspace: workspace.path },
    { HOME: workspace.home }
  );
  const processes = createProcesses(distDirectory());
  const { paths } = workspace;
  const closing: (() => void)[] = [];
  const reader = () => {
    const store = new WorkerStore(paths, processes);
    closing.push(() => store.close());
    return store;
  };
  let made = 0;
  const master = () => {
    const office = wireOrchestrator(config, {
      store: new WorkerStore(paths, processes),
      processes,
      registry: new EngineRegistry(engines.map(guardEngine), {}),
      roles: new RoleRepository(
        { builtin: workspace.home, own: workspace.home },
        () => undefined
      ),
      admission: {
        checkDepth: () => undefined,
        checkRate: () => undefined,
        count: () => undefined
      },
      origin: { depth: 0 },
      enter: () => undefined,
      newId: () => {
        made += 1;
        return made.toString(16).padStart(8, '0');
      }
    });
    closing.push(() => office.store.close());
    return office;
  };
  const linesOf = (path: string): Line[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const own = reader();
  return {
    workspace,
    master,
    reader,
    hire: (agentId) => {
      const meta = metaOf(agentId, workspace.path);
      const terms = termsOf(config, processes.self);
      own.create(meta, { role: '', env: {}, depth: 1, terms }, (folder) => {
        const directory = folder.start(1);
        ensureDirectory(directory);
        writeFileSync(join(directory, 'owner'), JSON.stringify(processes.self));
        setStarting(directory, true);
      });
    },
    lose: (agentId) => {
      const { folder, log } = own.get(agentId);
      claimNeverStarts(folder.start(log.read().state.generation));
    },
    desk: (agentId) => {
      const store = reader();
      const { folder, log } = store.get(agentId);
      return new WorkerMailbox({
        folder,
        log,
        broadcast: store.broadcastOf(runId),
        heartbeatSeconds: 60,
        onProblem: (problem) => {
          throw problem;
        }
      });
    },
    lines: (agentId, file) => linesOf(own.folderOf(agentId)[file]),
    broadcast: () => linesOf(own.broadcastOf(runId).log.path),
    close: () => {
      for (const close of closing) close();
      workspace.remove();
    }
  };
}

function metaOf(agent_id: string, cwd: string) {
  return {
    ...{ v: 1 as const, agent_id, cwd, run_id: runId },
    ...{ name: 'One', role: '', engine: 'mine', model: null, pane: null },
    access: 'full' as const,
    backend: 'process' as const,
    created_at: new Date().toISOString()
  };
}
