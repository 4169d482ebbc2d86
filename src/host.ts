import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { builtinEngines, optionalEngines } from '../plugins/index.ts';
import { createProcesses } from './adapters/child-process/processes.ts';
import { baseDirectoryOf, type Config } from './config.ts';
import { AuditViews } from './core/audit/audit-views.ts';
import { Journal, journalPath } from './core/audit/journal.ts';
import { createRedactor, secretsIn } from './core/audit/redact.ts';
import { EngineRegistry } from './core/engines/engine-registry.ts';
import { loadEngines } from './core/engines/load-engines.ts';
import { HostError } from './core/errors.ts';
import { type ContinueRequest, continueRun } from './core/runs/continue-run.ts';
import type { Processes } from './core/runs/ports.ts';
import type { Run } from './core/runs/run.ts';
import { RunStore } from './core/runs/run-store.ts';
import { RunTracker } from './core/runs/run-tracker.ts';
import {
  type Spawned,
  Spawner,
  type SpawnRequest
} from './core/runs/spawner.ts';
import { disconnectQueued, RunStarter } from './core/runs/starter.ts';
import { cancelRun, end } from './core/runs/stopper.ts';
import {
  type WaitOptions,
  type WaitResult,
  waitForRuns
} from './core/runs/waiter.ts';
import { log } from './log.ts';

/** One process's hold on a workspace: everything wired, nothing started. */
export class Host {
  readonly config: Config;
  readonly registry: EngineRegistry;
  readonly store: RunStore;
  readonly tracker: RunTracker;
  readonly processes: Processes;
  readonly journal: Journal;
  readonly headDirectory: string;
  readonly #views: AuditViews;
  readonly #starter: RunStarter;
  readonly #spawner: Spawner;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: Config, registry: EngineRegistry) {
    this.config = config;
    this.registry = registry;
    const state = join(config.workspace, '.agents');
    const logDirectory = join(config.workspace, 'logs');
    const redact = createRedactor(secretsIn(process.env));
    this.headDirectory = join(state, 'heads');
    this.store = new RunStore(state);
    this.processes = createProcesses(join(distDirectory(), 'reaper.cjs'));
    this.journal = new Journal(
      journalPath(logDirectory),
      this.headDirectory,
      redact
    );
    this.tracker = new RunTracker({
      store: this.store,
      journal: this.journal,
      processes: this.processes,
      engineOf: (name) => registry.find(name),
      onChange: () => {
        this.#starter.pump();
        this.#views.touch();
      },
      onProblem
    });
    this.#starter = new RunStarter({
      registry,
      store: this.store,
      processes: this.processes,
      maxConcurrent: config.maxConcurrent,
      onEnded: (id) => {
        this.tracker.look(id).catch(onProblem);
        this.#starter.pump();
      }
    });
    this.#spawner = new Spawner({
      registry,
      store: this.store,
      journal: this.journal,
      processes: this.processes,
      starter: this.#starter,
      settings: {
        workspace: config.workspace,
        maxAccess: config.maxAccess,
        maxDepth: config.maxDepth,
        outputLimitBytes: config.outputLimitMegabytes * 1024 * 1024,
        onDisconnect: config.onDisconnect,
        depth: Number(process.env.TROUPE_DEPTH) || 0,
        parent: process.env.TROUPE_AGENT_ID ?? null
      }
    });
    this.#views = new AuditViews({
      journal: this.journal,
      logDirectory,
      workspace: config.workspace,
      maximumEntries: config.iac.entries,
      maximumBytes: config.iac.megabytes * 1024 * 1024,
      redact,
      active: () => this.#activeAgents(),
      onProblem
    });
  }

  /** Looks after the workspace's runs and views until `close`. */
  watch(): void {
    const attend = async () => {
      await this.attend();
      this.#timer = setTimeout(attend, 700);
      this.#timer.unref();
    };
    void attend();
  }

  /** Settles what ended, adopts what is left, makes the views true. Once. */
  async attend(): Promise<void> {
    await this.tracker.tick().catch(onProblem);
    this.#starter.pump();
    await this.#views.refresh();
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    const spawned = await this.#spawner.spawn(request);
    this.#views.touch();
    return spawned;
  }

  async continue(request: ContinueRequest): Promise<Spawned> {
    const { registry, store, tracker } = this;
    const spawner = this.#spawner;
    const tools = { registry, store, tracker, spawner };
    const spawned = await continueRun(request, tools);
    this.#views.touch();
    return spawned;
  }

  cancel(agentId: string, reason?: string): Promise<Run | undefined> {
    return cancelRun(agentId, reason, this.#stopping());
  }

  wait(options: WaitOptions): Promise<WaitResult> {
    return waitForRuns(this.tracker, this.store, options);
  }

  /**
   * Lets go of the workspace: what is queued here never starts; what runs is
   * kept or ended as configured. Ends within 5 s.
   */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const dropped = disconnectQueued(this.#starter, this.store);
    const ours = this.#starter.ownRunning();
    const stop = this.config.onDisconnect === 'stop';
    await Promise.allSettled([
      ...dropped.map((id) => this.tracker.look(id)),
      ...(stop ? ours.map((id) => this.#disconnect(id)) : [])
    ]);
    await this.#views.refresh();
  }

  async #disconnect(agentId: string): Promise<void> {
    const record = this.store.recordOf(agentId);
    if (record) await end(record, 'disconnect', undefined, this.#stopping());
  }

  #stopping() {
    const { store, journal, processes, tracker } = this;
    return { store, journal, processes, tracker, starter: this.#starter };
  }

  async #activeAgents() {
    const runs = await this.tracker.active();
    return runs.map(({ record }) => record);
  }
}

/**
 * Wires a host for a configuration.
 * @throws HostError `config_invalid` when `strict` and a plugin fails
 */
export async function createHost(config: Config): Promise<Host> {
  const loaded = await loadEngines(config.plugins, baseDirectoryOf(config));
  for (const fault of loaded.faults)
    log(`plugin ${fault.plugin} was left out: ${fault.problem}`);
  if (config.strict && loaded.faults.length > 0)
    throw new HostError(
      'config_invalid',
      `A plugin does not load: ${loaded.faults[0]?.plugin}: ${loaded.faults[0]?.problem}`,
      'Mend it, or start without --strict to go on without it.'
    );
  const { onlyEngines, engines } = config;
  const offered = [
    ...builtinEngines,
    ...optionalEngines.filter(
      ({ name }) =>
        Object.hasOwn(engines, name) || (onlyEngines ?? []).includes(name)
    ),
    ...loaded.engines
  ].filter(
    ({ name }) =>
      engines[name]?.enabled !== false &&
      (onlyEngines === undefined || onlyEngines.includes(name))
  );
  return new Host(config, new EngineRegistry(offered, engines, loaded.faults));
}

/** Where the built programs lie, from source or from the bundle. */
function distDirectory(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) {
    const above = dirname(directory);
    if (above === directory) break;
    directory = above;
  }
  return join(directory, 'dist');
}

function onProblem(problem: unknown): void {
  log(problem instanceof Error ? problem.message : String(problem));
}
