import { type Config, hasToolset } from './config.ts';
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
import type { ApiKeys } from './core/engines/api-keys.ts';
import type { EngineRegistry } from './core/engines/engine-registry.ts';
import { programAt } from './core/engines/template-engine.ts';
import type { Orchestrator } from './core/orchestrator/orchestrator.ts';
import type { RecordIdentity } from './core/paths/identity.ts';
import type { Paths } from './core/paths/paths.ts';
import { recur } from './core/recur.ts';
import { type ContinueRequest, continueRun } from './core/runs/continue-run.ts';
import type { Origin } from './core/runs/origin.ts';
import type { Processes } from './core/runs/ports.ts';
import { lastEnded } from './core/runs/recent.ts';
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
import { markProcess } from './core/state/process-marks.ts';
import type { Safety } from './core/state/safety.ts';
import { logProblem } from './log.ts';
import { squadSettingsOf } from './squad-config.ts';
import { leftOutFaults } from './trust/left-out.ts';
import { wire } from './wiring.ts';
import { wireEngines } from './wiring-engines.ts';

/** So often workers are looked at; those in a queue wait for it. */
const workersMs = 300;

/** One process's hold on a workspace: everything wired, nothing started. */
export class Host {
  readonly config: Config;
  readonly registry: EngineRegistry;
  readonly store: RunStore;
  readonly origin: Origin;
  readonly tracker: RunTracker;
  readonly processes: Processes;
  readonly keys: ApiKeys;
  readonly journal: Journal;
  readonly squads: Squads;
  readonly council: Council;
  readonly councilOf: ReturnType<typeof wire>['councilOf'];
  readonly councilStore: CouncilStore;
  readonly summons: Summons;
  readonly orchestrator: Orchestrator;
  readonly paths: Paths;
  readonly identity: () => RecordIdentity;
  readonly safety: Safety;
  readonly #views: AuditViews;
  readonly #starter: RunStarter;
  readonly #spawner: Spawner;
  readonly #witness: Witness;
  readonly #letGo: () => void;
  readonly #tidy: () => void;
  #stopWatching = (): void => undefined;

  constructor(config: Config, registry: EngineRegistry, keys: ApiKeys) {
    const parts = wire(config, registry, keys);
    this.config = config;
    this.registry = registry;
    this.keys = keys;
    this.store = parts.store;
    this.origin = parts.origin;
    this.tracker = parts.tracker;
    this.processes = parts.processes;
    this.journal = parts.journal;
    this.squads = parts.squads;
    this.council = parts.council;
    this.councilOf = parts.councilOf;
    this.councilStore = parts.councilStore;
    this.summons = parts.summons;
    this.orchestrator = parts.orchestrator;
    this.paths = parts.paths;
    this.identity = parts.identity;
    this.safety = parts.safety;
    this.#views = parts.views;
    this.#starter = parts.starter;
    this.#spawner = parts.spawner;
    this.#witness = parts.witness;
    this.#letGo = parts.letGo;
    this.#tidy = parts.tidy;
  }

  /** What was asked for and does not count. */
  get faults() {
    return [...leftOutFaults(this.config.trust), ...this.registry.faults];
  }

  /** Looks after the workspace's runs and views until `close`. */
  watch(): void {
    if (this.safety.holds()) this.#tidy();
    void this.attend().catch(logProblem);
    const whileSafe = (work: () => Promise<void>) => async () => {
      if (this.safety.holds()) await work();
    };
    const lookAfterRuns = whileSafe(async () => {
      await this.#lookAfterRuns();
      this.#views.touch();
    });
    const attend = whileSafe(() => this.orchestrator.attend());
    const unmark = this.#markServer();
    const stop = recur(700, lookAfterRuns, logProblem);
    const hasWorkers = hasToolset(this.config, 'orchestrator');
    const stopAttending = hasWorkers && recur(workersMs, attend, logProblem);
    const unsubscribe = this.tracker.subscribe(
      () => void this.#attendSummons()
    );
    this.#stopWatching = () => {
      unmark();
      stop();
      if (stopAttending) stopAttending();
      unsubscribe();
    };
  }

  /** Without its mark a server works as well; a record may move then. */
  #markServer(): () => void {
    try {
      return markProcess(this.paths.servers, this.processes);
    } catch (problem) {
      logProblem(problem);
      return () => undefined;
    }
  }

  /** Settles what ended, adopts what is left, makes the views true. Once. */
  async attend(): Promise<void> {
    if (!this.safety.holds()) return;
    await this.#lookAfterRuns();
    await this.#views.refresh();
  }

  async #lookAfterRuns(): Promise<void> {
    await this.tracker.tick().catch(logProblem);
    // The council may be held up by others: its agents must not be.
    await soon(this.#attendSummons(), 300, undefined);
    this.#starter.pump();
  }

  /** Never rejects. */
  async #attendSummons(): Promise<void> {
    if (this.safety.holds(true)) await this.summons.attend().catch(logProblem);
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    const spawned = await this.#spawner.spawn(request);
    this.#views.touch();
    return spawned;
  }

  async continue(request: ContinueRequest): Promise<Spawned> {
    const { registry, store, tracker } = this;
    const { squad, workspace } = this.config;
    const { engineCommand: program } = squadSettingsOf(squad, workspace);
    const tools = {
      registry,
      store,
      tracker,
      paths: this.paths,
      spawner: this.#spawner,
      squadProgram: program && programAt(program, workspace)
    };
    const spawned = await continueRun(request, tools);
    this.#views.touch();
    return spawned;
  }

  /** Has an engine answer the council's request, in the background. */
  async summon(request: SummonRequest): Promise<Summoned> {
    const summoned = await this.summons.summon(request);
    // One that could not start has ended already.
    void this.#attendSummons();
    return summoned;
  }

  cancel(agentId: string, reason?: string): Promise<Run | undefined> {
    return cancelRun(agentId, reason, this.#stopping());
  }

  wait(options: WaitOptions): Promise<WaitResult> {
    return waitForRuns(this.tracker, this.store, options);
  }

  /** Ids of the agents that ended last, newest last; see `lastEnded`. */
  recent(limit: number, over?: string[]): string[] {
    return lastEnded(this.journal.files, this.store, limit, over);
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
    if (this.safety.holds()) await this.#views.refresh();
    this.#letGo();
  }

  async #disconnect(agentId: string): Promise<void> {
    const record = this.store.recordOf(agentId);
    if (record) await end(record, 'disconnect', undefined, this.#stopping());
  }

  #stopping() {
    const { store, journal, processes, tracker } = this;
    const starter = this.#starter;
    const onProblem = logProblem;
    return { store, journal, processes, tracker, starter, onProblem };
  }
}

/**
 * Wires a host for a configuration.
 * @throws HostError `config_invalid` when a flag names an engine there is
 *   not, or with `strict` when something is left out
 */
export async function createHost(config: Config): Promise<Host> {
  const { registry, keys } = await wireEngines(config);
  return new Host(config, registry, keys);
}
