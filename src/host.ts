import { dirname, join } from 'node:path';
import { builtinEngines, optionalEngines } from '../plugins/index.ts';
import { createProcesses } from './adapters/child-process/processes.ts';
import { baseDirectoryOf, type Config } from './config.ts';
import { AuditViews } from './core/audit/audit-views.ts';
import { Journal, journalPath } from './core/audit/journal.ts';
import { createRedactor, secretsIn } from './core/audit/redact.ts';
import { chooseEngines } from './core/engines/choose-engines.ts';
import { EngineRegistry } from './core/engines/engine-registry.ts';
import { loadEngines } from './core/engines/load-engines.ts';
import { HostError } from './core/errors.ts';
import { recur } from './core/recur.ts';
import { type ContinueRequest, continueRun } from './core/runs/continue-run.ts';
import type { Processes } from './core/runs/ports.ts';
import { recentlyEnded } from './core/runs/recent.ts';
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
import { removeLeftovers } from './core/state/atomic-file.ts';
import { distDirectory } from './dist-directory.ts';
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
  #stopWatching = (): void => undefined;

  constructor(config: Config, registry: EngineRegistry) {
    this.config = config;
    this.registry = registry;
    const state = join(config.workspace, '.agents');
    const logDirectory = join(config.workspace, 'logs');
    const redact = createRedactor(
      [
        process.env,
        ...Object.values(config.engines).map(({ env }) => env ?? {})
      ].flatMap(secretsIn)
    );
    this.headDirectory = join(state, 'heads');
    this.store = new RunStore(state);
    this.processes = createProcesses(distDirectory());
    this.journal = new Journal(
      journalPath(logDirectory),
      this.headDirectory,
      redact
    );
    this.tracker = new RunTracker({
      store: this.store,
      journal: this.journal,
      processes: this.processes,
      // What is not offered here may have been started elsewhere.
      engineOf: (name) => registry.known(name),
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
      tracker: this.tracker,
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
    this.#tidy();
    void this.attend();
    this.#stopWatching = recur(700, async () => {
      await this.#lookAfterRuns();
      this.#views.touch();
    });
  }

  /** Takes away what killed servers left half-written. */
  #tidy(): void {
    const logs = dirname(this.journal.path);
    try {
      for (const directory of [this.store.drafts, logs, join(logs, 'archive')])
        removeLeftovers(directory);
    } catch (problem) {
      onProblem(problem);
    }
  }

  /** Settles what ended, adopts what is left, makes the views true. Once. */
  async attend(): Promise<void> {
    await this.#lookAfterRuns();
    await this.#views.refresh();
  }

  async #lookAfterRuns(): Promise<void> {
    await this.tracker.tick().catch(onProblem);
    this.#starter.pump();
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    const spawned = await this.#spawner.spawn(request);
    this.#views.touch();
    return spawned;
  }

  async continue(request: ContinueRequest): Promise<Spawned> {
    const { registry, store, tracker } = this;
    const tools = { registry, store, tracker, spawner: this.#spawner };
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

  /** Ids of the agents that ended last, newest last. */
  async recent(limit: number): Promise<string[]> {
    const noted = await recentlyEnded(this.journal.path, limit);
    const fresh = this.store
      .openIds()
      .filter((id) => this.store.outcomeOf(id) && !noted.includes(id));
    return [...noted, ...fresh].slice(-limit);
  }

  /**
   * Lets go of the workspace: what is queued here never starts; what runs is
   * kept or ended as configured. Ends within 5 s.
   */
  async close(): Promise<void> {
    this.#stopWatching();
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
    return runs.map(({ record, status }) => ({
      ...record,
      queued: status === 'queued'
    }));
  }
}

/**
 * Wires a host for a configuration.
 * @throws HostError `config_invalid` when a flag names an engine there is
 *   not, or with `strict` when a plugin does not load
 */
export async function createHost(config: Config): Promise<Host> {
  const loaded = await loadEngines(config.plugins, baseDirectoryOf(config));
  const { engines, others, faults } = chooseEngines({
    builtin: builtinEngines,
    optional: optionalEngines,
    loaded: loaded.engines,
    settings: config.engines,
    only: config.onlyEngines,
    also: config.alsoEngines ?? [],
    faults: loaded.faults
  });
  for (const { plugin, problem } of faults)
    log(`${plugin} was left out: ${problem}`);
  const [fault] = faults;
  if (config.strict && fault)
    throw new HostError(
      'config_invalid',
      `${fault.plugin} was left out: ${fault.problem}.`,
      'Mend it, or start without --strict to go on without it.'
    );
  return new Host(
    config,
    new EngineRegistry(engines, config.engines, faults, others)
  );
}

function onProblem(problem: unknown): void {
  log(problem instanceof Error ? problem.message : String(problem));
}
