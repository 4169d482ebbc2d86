import { createTerminal } from './adapters/tmux/tmux.ts';
import type { Config } from './config.ts';
import type { EngineRegistry } from './core/engines/engine-registry.ts';
import { Attendant } from './core/orchestrator/attendant.ts';
import {
  type CreatorParts,
  WorkerCreator
} from './core/orchestrator/create-worker.ts';
import { Orchestrator } from './core/orchestrator/orchestrator.ts';
import type { Terms } from './core/orchestrator/records.ts';
import { WorkerEnder } from './core/orchestrator/worker-ender.ts';
import { WorkerLaunch } from './core/orchestrator/worker-launch.ts';
import { WorkerStart } from './core/orchestrator/worker-start.ts';
import { WorkerStore } from './core/orchestrator/worker-store.ts';
import type { Paths } from './core/paths/paths.ts';
import type { Processes } from './core/runs/ports.ts';
import type { ProcessIdentity } from './core/runs/run.ts';
import type { RoleRepository } from './core/squads/role-repository.ts';
import { distDirectory } from './dist-directory.ts';
import { logProblem } from './log.ts';
import { heartbeatOf, serverCommand } from './orchestrator-config.ts';

export interface Surroundings {
  paths: Paths;
  registry: EngineRegistry;
  processes: Processes;
  roles: RoleRepository;
  admission: CreatorParts['admission'];
  origin: CreatorParts['origin'];
  newId: () => string;
}

/** What makes workers and looks after them, connected. */
export function wireOrchestrator(config: Config, around: Surroundings) {
  const { paths, registry, processes, roles, newId } = around;
  const { workspace, orchestrator: settings } = config;
  const store = new WorkerStore(paths, processes);
  const terminal = createTerminal({
    workspace,
    programs: distDirectory(),
    above: () => processes.ancestors().map(({ identity }) => identity.pid)
  });
  const launch = new WorkerLaunch({
    registry,
    processes,
    store,
    settings: {
      server: serverCommand(),
      configFile: config.file,
      isTrusted: config.trust.isAll,
      workspace,
      maxAccess: config.maxAccess,
      // Whole seconds, as a model is told them.
      heartbeatSeconds: Math.max(1, Math.floor(heartbeatOf(settings)))
    }
  });
  const onProblem = logProblem;
  const start = new WorkerStart({
    processes,
    terminal,
    store,
    launch,
    onProblem
  });
  const ender = new WorkerEnder({ store, start, settings, onProblem });
  const attendant = new Attendant({
    store,
    start,
    ender,
    witnesses: processes,
    onProblem
  });
  const creator = new WorkerCreator({
    store,
    start,
    launch,
    attendant,
    ender,
    registry,
    roles,
    settings: { ...settings, workspace, maxAccess: config.maxAccess },
    terms: termsOf(config, processes.self),
    admission: around.admission,
    origin: around.origin,
    newId: () => freeId(newId, store)
  });
  return new Orchestrator({ store, attendant, ender, creator, terminal });
}

/** What is settled for a worker that a server makes. */
export function termsOf(config: Config, maker: ProcessIdentity): Terms {
  const { orchestrator, onDisconnect } = config;
  return { ...orchestrator, onDisconnect, maker };
}

/** Workers and agents of spawns have their ids from one pot. */
function freeId(newId: () => string, store: WorkerStore): string {
  const id = newId();
  return store.find(id) ? freeId(newId, store) : id;
}
