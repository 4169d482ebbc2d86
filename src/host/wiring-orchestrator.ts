import { createTerminal } from '../adapters/tmux/tmux.ts';
import type { Config } from '../config/config.ts';
import { heartbeatOf, serverCommand } from '../config/orchestrator.ts';
import type { WorkerAtWork } from '../core/changes/concurrent-writers.ts';
import {
  type EngineRegistry,
  enforcementOf
} from '../core/engines/engine-registry.ts';
import {
  Orchestrator,
  type OrchestratorParts
} from '../core/orchestrator/orchestrator.ts';
import type { Terms } from '../core/orchestrator/queue/records.ts';
import type { WorkerLog } from '../core/orchestrator/queue/worker-log.ts';
import type { WorkerStore } from '../core/orchestrator/queue/worker-store.ts';
import type { ProcessIdentity } from '../core/processes/process-identity.ts';
import type { Processes } from '../core/runs/ports.ts';
import type { RoleRepository } from '../core/squads/role-repository.ts';
import { logProblem } from './log.ts';
import { distDirectory } from './package.ts';
import { workerInterface } from './worker-brief.ts';

interface OrchestratorContext {
  store: WorkerStore;
  registry: EngineRegistry;
  processes: Processes;
  roles: RoleRepository;
  admission: OrchestratorParts['admission'];
  origin: OrchestratorParts['origin'];
  newId: () => string;
  enter: OrchestratorParts['enter'];
}

/** Connects the parts that create workers and follow them. */
export function wireOrchestrator(config: Config, context: OrchestratorContext) {
  const { store, registry, processes, roles, newId } = context;
  const { workspace, orchestrator: settings } = config;
  const terminal = createTerminal({
    workspace,
    programs: distDirectory(),
    above: () => processes.ancestors().map(({ identity }) => identity.pid)
  });
  return new Orchestrator({
    store,
    processes,
    registry,
    roles,
    terminal,
    settings: {
      backend: settings.backend,
      engine: settings.engine,
      interface: workerInterface,
      server: serverCommand(),
      configFile: config.file,
      isTrusted: config.trust.isAll,
      workspace,
      get maxAccess() {
        return config.maxAccess;
      },
      // In whole seconds, because the worker's model reads it in its brief.
      heartbeatSeconds: Math.max(1, Math.floor(heartbeatOf(settings)))
    },
    terms: termsOf(config, processes.self),
    admission: context.admission,
    origin: context.origin,
    newId: () => freeId(newId, store),
    enter: context.enter,
    onProblem: logProblem
  });
}

/** All recorded workers, which may write files in the directories of agents. */
export function workersAtWork(
  store: WorkerStore,
  registry: EngineRegistry
): WorkerAtWork[] {
  return store.all().map(({ meta, log }) => {
    const { agent_id, cwd, access, created_at } = meta;
    const engine = registry.known(meta.engine);
    const enforcement = engine ? enforcementOf(engine, access) : 'asked';
    return {
      ...{ agent_id, cwd, access, enforcement, created_at },
      isOver: isOver(log)
    };
  });
}

/** A worker whose logs cannot be read counts as ended. */
function isOver(log: WorkerLog): boolean {
  try {
    return log.read().isOver;
  } catch {
    return true;
  }
}

/** The settings that a worker keeps for its lifetime. */
export function termsOf(config: Config, maker: ProcessIdentity): Terms {
  const { orchestrator, onDisconnect } = config;
  return { ...orchestrator, onDisconnect, maker };
}

/** An id that neither a worker nor a run has. */
function freeId(newId: () => string, store: WorkerStore): string {
  const id = newId();
  return store.find(id) ? freeId(newId, store) : id;
}
