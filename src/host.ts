import { dirname, join } from 'node:path';
import { builtinEngines, optionalEngines } from '../plugins/index.ts';
import { baseDirectoryOf, type Config, hasToolset } from './config.ts';
import type { AuditViews } from './core/audit/audit-views.ts';
import type { Journal } from './core/audit/journal.ts';
import type { Witness } from './core/changes/witness.ts';
import type { Council } from './core/council/council.ts';
import type { CouncilStore } from './core/council/council-store.ts';
import type {
  Summoned,
  SummonRequest,
  Summons
} from './core/council/summons.ts';
import { ApiKeys } from './core/engines/api-keys.ts';
import { chooseEngines } from './core/engines/choose-engines.ts';
import { EngineRegistry } from './core/engines/engine-registry.ts';
import { loadEngines } from './core/engines/load-engines.ts';
import { HostError } from './core/errors.ts';
import type { Orchestrator } from './core/orchestrator/orchestrator.ts';
import { recur } from './core/recur.ts';
import { type ContinueRequest, continueRun } from './core/runs/continue-run.ts';
import type { Processes } from './core/runs/ports.ts';
import { recentlyEnded } from './core/runs/recent.ts';
import type { Run } from './core/runs/run.ts';
import type { RunStore } from './core/runs/run-store.ts';
import type { RunTracker } from './core/runs/run-tracker.ts';
import type { Spawned, SpawnRequest } from './core/runs/spawn-request.ts';
import type { Spawner } from './core/runs/spawner.ts';
import { disconnectQueued, type RunStarter } from './core/runs/starter.ts';
import { cancelRun, end } from './core/runs/stopper.ts';
import {
  type WaitOptions,
  type WaitResult,
  waitForRuns
} from './core/runs/waiter.ts';
import { soon } from './core/soon.ts';
import type { Squads } from './core/squads/squads.ts';
import { removeLeftovers } from './core/state/atomic-file.ts';
import { log, logProblem } from './log.ts';
import { wire } from './wiring.ts';

/** So often workers are looked at; those in a queue wait for it. */
const workersMs = 300;

/** One process's hold on a workspace: everything wired, nothing started. */
export class Host {
  readonly config: Config;
  readonly registry: EngineRegistry;
  readonly store: RunStore;
  readonly tracker: RunTracker;
  readonly processes: Processes;
  readonly keys: ApiKeys;
  readonly journal: Journal;
  readonly squads: Squads;
  readonly council: Council;
  readonly councilStore: CouncilStore;
  readonly summons: Summons;
  readonly orchestrator: Orchestrator;
  readonly headDirectory: string;
  readonly #views: AuditViews;
  readonly #starter: RunStarter;
  readonly #spawner: Spawner;
  readonly #witness: Witness;
  readonly #closeCouncils: () => void;
  #stopWatching = (): void => undefined;

  constructor(config: Config, registry: EngineRegistry, keys: ApiKeys) {
    const parts = wire(config, registry, keys);
    this.config = config;
    this.registry = registry;
    this.keys = keys;
    this.store = parts.store;
    this.tracker = parts.tracker;
    this.processes = parts.processes;
    this.journal = parts.journal;
    this.squads = parts.squads;
    this.council = parts.council;
    this.councilStore = parts.councilStore;
    this.summons = parts.summons;
    this.orchestrator = parts.orchestrator;
    this.headDirectory = parts.headDirectory;
    this.#views = parts.views;
    this.#starter = parts.starter;
    this.#spawner = parts.spawner;
    this.#witness = parts.witness;
    this.#closeCouncils = parts.closeCouncils;
  }

  /** Looks after the workspace's runs and views until `close`. */
  watch(): void {
    this.#tidy();
    void this.attend();
    const stop = recur(700, async () => {
      await this.#lookAfterRuns();
      this.#views.touch();
    });
    const stopAttending = hasToolset(this.config, 'orchestrator')
      ? recur(workersMs, () => this.orchestrator.attend())
      : () => undefined;
    const unsubscribe = this.tracker.subscribe(
      () => void this.summons.attend().catch(logProblem)
    );
    this.#stopWatching = () => {
      stop();
      stopAttending();
      unsubscribe();
    };
  }

  /** Takes away what killed servers left half-written. */
  #tidy(): void {
    const logs = dirname(this.journal.path);
    try {
      for (const directory of [this.store.drafts, logs, join(logs, 'archive')])
        removeLeftovers(directory);
    } catch (problem) {
      logProblem(problem);
    }
  }

  /** Settles what ended, adopts what is left, makes the views true. Once. */
  async attend(): Promise<void> {
    await this.#lookAfterRuns();
    await this.#views.refresh();
  }

  async #lookAfterRuns(): Promise<void> {
    await this.tracker.tick().catch(logProblem);
    // The council may be held up by others: its agents must not be.
    await soon(this.summons.attend().catch(logProblem), 300, undefined);
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

  /** Has an engine answer the council's request, in the background. */
  async summon(request: SummonRequest): Promise<Summoned> {
    const summoned = await this.summons.summon(request);
    // One that could not start has ended already.
    void this.summons.attend().catch(logProblem);
    return summoned;
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
    this.#witness.hurry();
    const ours = this.#starter.ownRunning();
    const stop = this.config.onDisconnect === 'stop';
    await Promise.allSettled([
      ...dropped.map((id) => this.tracker.look(id)),
      ...(stop ? ours.map((id) => this.#disconnect(id)) : []),
      this.orchestrator.close(stop)
    ]);
    await this.#starter.prepared();
    this.#closeCouncils();
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
}

/**
 * Wires a host for a configuration.
 * @throws HostError `config_invalid` when a flag names an engine there is
 *   not, or with `strict` when a plugin does not load
 */
export async function createHost(config: Config): Promise<Host> {
  const loaded = await loadEngines(config.plugins, baseDirectoryOf(config));
  const keys = new ApiKeys({
    directories: [config.workspace, baseDirectoryOf(config)],
    onProblem: log
  });
  const { engines, others, faults } = chooseEngines({
    builtin: builtinEngines,
    optional: optionalEngines,
    loaded: loaded.engines,
    settings: config.engines,
    only: config.onlyEngines,
    also: [...squadEngineOf(config), ...(config.alsoEngines ?? [])],
    hasKey: (engine) => keys.find(engine) !== undefined,
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
  keys.remember([...engines, ...others]);
  return new Host(
    config,
    new EngineRegistry(engines, config.engines, faults, others, loaded.places),
    keys
  );
}

/** Who names an engine for squads means it to be there, with no list of them. */
function squadEngineOf(config: Config): string[] {
  const { squad, onlyEngines } = config;
  const isOpen = onlyEngines === undefined && hasToolset(config, 'squad');
  return isOpen && squad.engine !== undefined ? [squad.engine] : [];
}
