import { type Config, hasToolset } from '../config/config.ts';
import { policyOf } from '../config/retention.ts';
import { squadSettingsOf } from '../config/squads.ts';
import { leftOutFaults } from '../config/trust.ts';
import type { Asks } from '../core/asks/answers/asks.ts';
import type { Journal } from '../core/audit/journal/journal.ts';
import { lastEnded } from '../core/audit/journal/recently-ended.ts';
import type { Council } from '../core/council/council.ts';
import type { CouncilStore } from '../core/council/council-store.ts';
import type {
  Summoned,
  SummonRequest,
  Summons
} from '../core/council/summons.ts';
import type { ApiKeys } from '../core/engines/api/api-keys.ts';
import type { EngineRegistry } from '../core/engines/engine-registry.ts';
import { programAt } from '../core/engines/template/template-engine.ts';
import type { Orchestrator } from '../core/orchestrator/orchestrator.ts';
import type { Paths } from '../core/paths/paths.ts';
import type { RecordIdentity } from '../core/paths/records.ts';
import type { CleanTools } from '../core/retention/clean.ts';
import type { CallerContext } from '../core/runs/admission/caller-context.ts';
import { noteFullDisk } from '../core/runs/end/output-loss.ts';
import type { RunTracker } from '../core/runs/end/run-tracker.ts';
import { cancelRun, end } from '../core/runs/end/stopper.ts';
import {
  type WaitOptions,
  type WaitResult,
  waitForRuns
} from '../core/runs/end/waiter.ts';
import type { Processes } from '../core/runs/ports.ts';
import type { Run } from '../core/runs/run.ts';
import type { RunStore } from '../core/runs/run-store.ts';
import type { Spawned, SpawnRequest } from '../core/runs/spawn-request.ts';
import {
  type ContinueRequest,
  continueRun
} from '../core/runs/start/continue-run.ts';
import { afterPreparation } from '../core/runs/start/preparation.ts';
import { disconnectQueued } from '../core/runs/start/starter.ts';
import type { Squads } from '../core/squads/squads.ts';
import type { StateIntegrity } from '../core/state/integrity/state-guard.ts';
import { markProcess } from '../core/state/locks/process-marks.ts';
import { poll, withTimeout } from '../core/timing.ts';
import type { ConfigSource } from './config-source.ts';
import { LiveConfig } from './live-config.ts';
import { log, logProblem } from './log.ts';
import { type Parts, wire } from './wiring.ts';
import { wireEngines } from './wiring-engines.ts';

/** A disk may be full only for a moment. Each check is one system call. */
const diskPollMs = 100;

/** Poll interval for workers, short because queued workers wait for a poll. */
const workersPollMs = 300;

/** Within this time, `close` waits for the user's command at an end. */
const closeMs = 4000;
/** So long, to report that it has failed. */
const endCommandMs = 1000;

/** One process's access to a workspace. Its constructor starts nothing. */
export class Host {
  readonly config: Config;
  readonly registry: EngineRegistry;
  readonly store: RunStore;
  readonly origin: CallerContext;
  readonly tracker: RunTracker;
  readonly asks: Asks;
  readonly processes: Processes;
  readonly keys: ApiKeys;
  readonly journal: Journal;
  readonly squads: Squads;
  readonly council: Council;
  readonly councilOf: Parts['councilOf'];
  readonly councilStore: CouncilStore;
  readonly summons: Summons;
  readonly orchestrator: Orchestrator;
  readonly paths: Paths;
  readonly identity: () => RecordIdentity;
  readonly safety: StateIntegrity;
  readonly #parts: Parts;
  readonly #live: LiveConfig | undefined;
  #stopWatching = (): void => undefined;

  constructor(
    config: Config,
    registry: EngineRegistry,
    keys: ApiKeys,
    source?: ConfigSource
  ) {
    const parts = wire(config, registry, keys);
    this.config = config;
    this.registry = registry;
    this.keys = keys;
    this.store = parts.store;
    this.origin = parts.origin;
    this.tracker = parts.tracker;
    this.asks = parts.asks;
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
    this.#parts = parts;
    this.#live = source && new LiveConfig(config, registry, source);
  }

  /** Settings and plugins that were requested and left out. */
  get faults() {
    return [
      ...(this.#live?.faults ?? []),
      ...leftOutFaults(this.config.trust),
      ...this.registry.faults
    ];
  }

  /** Applies a changed configuration, before agents are started. */
  refreshConfig(): Promise<void> | undefined {
    return this.#live?.refresh();
  }

  /** Why a changed configuration does not count: one sentence or none. */
  get configNotices(): string[] {
    const notice = this.#live?.notice;
    return notice === undefined ? [] : [notice];
  }

  /** Keeps the workspace's runs, workers and views up to date until `close`. */
  watch(): void {
    if (this.safety.holds()) this.#parts.tidy();
    void this.attend().catch(logProblem);
    const whileSafe = (work: () => Promise<void>) => async () => {
      if (this.safety.holds()) await work();
    };
    const updateRuns = whileSafe(async () => {
      await this.#updateRuns();
      this.#parts.views.touch();
    });
    const updateWorkers = whileSafe(() => this.orchestrator.attend());
    const unmark = this.#markServer();
    const stopRuns = poll(700, updateRuns, logProblem);
    const stopDisk = poll(diskPollMs, this.#watchDisk, logProblem);
    const hasWorkers = hasToolset(this.config, 'orchestrator');
    const stopWorkers =
      hasWorkers && poll(workersPollMs, updateWorkers, logProblem);
    const { events } = this.#parts;
    const updateSummons = () => void this.#updateSummons();
    const unsubscribes = [
      events.onRunChanged(updateSummons),
      events.onRunEnded(updateSummons)
    ];
    this.#stopWatching = () => {
      unmark();
      stopRuns();
      stopDisk();
      if (stopWorkers) stopWorkers();
      for (const unsubscribe of unsubscribes) unsubscribe();
    };
  }

  /** A failure is only logged: the server works without its mark, too. */
  #markServer(): () => void {
    try {
      return markProcess(this.paths.servers, this.processes);
    } catch (problem) {
      logProblem(problem);
      return () => undefined;
    }
  }

  /** Finalizes ended runs, adopts orphaned runs and updates the views, once. */
  async attend(): Promise<void> {
    if (!this.safety.holds()) return;
    await this.#updateRuns();
    await this.#parts.views.refresh();
  }

  async #updateRuns(): Promise<void> {
    // Not awaited: ending processes that ignore SIGTERM takes seconds.
    void this.endVanished();
    await this.tracker.tick().catch(logProblem);
    // Another process may hold the council's lock; runs must not wait for it.
    await withTimeout(this.#updateSummons(), 300, undefined);
    this.#parts.starter.pump();
  }

  readonly #watchDisk = async (): Promise<void> => {
    const { store, starter } = this.#parts;
    noteFullDisk(store, starter.slots.records());
  };

  /** Never rejects. */
  async #updateSummons(): Promise<void> {
    if (this.safety.holds(true))
      await this.summons.collectAnswers().catch(logProblem);
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    return this.#prepared(await this.#parts.spawner.spawn(request));
  }

  async #prepared(spawned: Spawned): Promise<Spawned> {
    return { ...spawned, ...(await this.prepared(spawned.record.agent_id)) };
  }

  /** See `afterPreparation`. */
  prepared(agentId: string, waitMs?: number): Promise<Run | undefined> {
    return afterPreparation(agentId, this.#parts, waitMs);
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
      spawner: this.#parts.spawner,
      squadProgram: program && programAt(program, workspace)
    };
    return this.#prepared(await continueRun(request, tools));
  }

  /** Starts an engine in the background to answer a request of the council. */
  async summon(request: SummonRequest): Promise<Summoned> {
    const summoned = await this.summons.summon(request);
    // An agent that could not start has already ended.
    void this.#updateSummons();
    const run = await this.prepared(summoned.agentId);
    return run ? { ...summoned, status: run.status } : summoned;
  }

  /** @param who the door of a person who cancels: `from the page` */
  cancel(
    agentId: string,
    reason?: string,
    who?: string
  ): Promise<Run | undefined> {
    return cancelRun(agentId, { reason, who }, this.#stopping());
  }

  /**
   * Ends the agents of this server whose folder was removed from the record,
   * so that none of them is reported as gone while it still runs.
   */
  endVanished(): Promise<void> {
    return this.#parts.vanished.attend();
  }

  wait(options: WaitOptions): Promise<WaitResult> {
    return waitForRuns(this.tracker, this.store, this.#parts.events, options);
  }

  /** Ids of the agents that ended last, newest last. See `lastEnded`. */
  recent(limit: number, over?: readonly string[]): string[] {
    return lastEnded(this.journal.files, this.store, limit, over);
  }

  /**
   * Releases the workspace. Runs that this process has queued never start; its
   * running agents are kept or ended as configured. Resolves within 5 s.
   */
  async close(): Promise<void> {
    const began = performance.now();
    this.#stopWatching();
    const dropped = disconnectQueued(this.#parts.starter, this.store);
    this.#parts.changeTracker.hurry();
    const ours = this.#parts.starter.ownRunning();
    await Promise.allSettled([
      ...dropped.map((id) => this.tracker.look(id)),
      ...ours.map((id) => this.#disconnect(id)),
      // Only this server knows about its runs whose folder is gone.
      this.endVanished(),
      this.orchestrator.close(this.config.onDisconnect === 'stop')
    ]);
    await this.#parts.starter.prepared();
    if (this.safety.holds()) await this.#parts.views.refresh();
    const leftMs = closeMs - (performance.now() - began);
    const waitMs = Math.max(0, Math.min(endCommandMs, leftMs));
    // Its supervisor keeps the time limit of a command that takes longer.
    await this.#parts.endCommand?.finished(waitMs);
    this.#parts.release();
  }

  /** Ends an agent that is to end with its server, as its record says. */
  async #disconnect(agentId: string): Promise<void> {
    const record = this.store.recordOf(agentId);
    if (record?.on_disconnect === 'stop')
      await end(record, 'disconnect', undefined, this.#stopping());
  }

  #stopping() {
    const { store, processes, tracker } = this;
    const { starter, runJournal: journal } = this.#parts;
    const onProblem = logProblem;
    return { store, journal, processes, tracker, starter, onProblem };
  }
}

/**
 * Wires a host for a configuration.
 * @param source where the configuration comes from; if given, a change of it
 *   is applied
 * @throws HostError `config_invalid` if a flag names an unknown engine, or with
 *   `strict` if something is left out
 */
export async function createHost(
  config: Config,
  source?: ConfigSource
): Promise<Host> {
  const { registry, keys } = await wireEngines(config);
  return new Host(config, registry, keys, source);
}

const hourMs = 3_600_000;

/**
 * Applies the retention policy in the background, now and every hour.
 * @returns a function that stops it
 */
export function retainAutomatically({
  config,
  store,
  journal,
  processes,
  safety
}: Omit<CleanTools, 'onProblem' | 'signal'> & {
  config: Config;
  safety: Pick<StateIntegrity, 'holds'>;
}): () => void {
  const policy = policyOf(config.retention);
  if (!config.retention.automatic || !policy) return () => undefined;
  const clean = async () => {
    if (!safety.holds()) return;
    const { applyPolicy } = await import('../core/retention/clean.ts');
    const tools = { store, journal, processes, onProblem: log };
    await applyPolicy(policy, tools).catch(logProblem);
  };
  setImmediate(() => void clean());
  return poll(hourMs, clean, logProblem);
}
