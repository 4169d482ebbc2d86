import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Reply } from '../../../plugin/plugin.ts';
import { limitError } from '../../errors.ts';
import { isSameProcess } from '../../processes/process-identity.ts';
import { Ages, SharedRounds, Throttle, withTimeout } from '../../timing.ts';
import { corruptRun, isFull, unwritten } from '../damaged-run.ts';
import type { Processes, Starts } from '../ports.ts';
import type { OpenRuns, Outcome, Run, RunRecord } from '../run.ts';
import { claimOf, hasExited, noteLoss, wasClaimed } from '../run-files.ts';
import {
  isOver,
  isOverIn,
  isUnseen,
  liveStateOf,
  ownStateOf,
  type Status,
  settlingMs,
  statusOf
} from '../run-state.ts';
import {
  ageOf,
  completeEnd,
  endLeftovers,
  type FinalizeDependencies,
  finalize,
  isBeingFinalized,
  isForItsPlace,
  isForOthers
} from './finalize.ts';
import { LiveOutput } from './live-output.ts';
import { unjudgedRun } from './outcome.ts';
import { readableOf } from './reply-reader.ts';
import { Watchdog } from './watchdog.ts';

interface TrackerDependencies extends FinalizeDependencies {
  processes: Processes;
  starter: Starts;
  onProblem: (problem: unknown) => void;
}

/** An end that takes longer to record is published as delayed. */
const slowEndMs = 300;

/** Tracks every run of the workspace, whichever server started it. */
export class RunTracker {
  readonly #with: TrackerDependencies;
  readonly #finalizing = new Map<string, Promise<void>>();
  readonly #output: LiveOutput;
  readonly #watchdog = new Watchdog();
  readonly #rounds = new SharedRounds(() => this.#standing());
  /** Ended runs of unknown engines whose leftover processes are stopped. */
  readonly #cleared = new Set<string>();
  /** Why an end could not be recorded, by agent. */
  readonly #problems = new Map<string, unknown>();
  /** Outcomes whose runs are still open, by agent. */
  readonly #outcomes = new Ages();
  /** Each end is synced to disk; hundreds at once would block other work. */
  readonly #throttle = new Throttle();

  constructor(dependencies: TrackerDependencies) {
    this.#with = dependencies;
    this.#output = new LiveOutput(dependencies);
  }

  /**
   * A run with its current status. A run that has ended is finalized first.
   * @throws HostError `storage_full` or `storage_unwritable` when its end
   *   cannot be recorded, `state_invalid` when its files were tampered with
   */
  async run(agentId: string): Promise<Run | undefined> {
    const { store } = this.#with;
    const record = store.recordOf(agentId);
    const pathOf = (file: string) => join(store.directoryOf(agentId), file);
    if (!record && store.has(agentId)) throw corruptRun(pathOf('record.json'));
    if (!record) return undefined;
    const status = await this.refresh(record).catch((error: unknown) => {
      if (store.has(agentId)) throw error;
    });
    const isUnjudged = this.#isUnjudged(record);
    // Read last: another server may record the end at any time.
    const outcome = store.outcomeOf(agentId);
    // The run was cleaned away during the refresh.
    if (!status || !(outcome || store.has(agentId))) return undefined;
    if (status !== 'ended') return { record, status };
    if (outcome) return { record, status: outcome.status, outcome };
    if (isUnjudged) return unjudgedRun(record, store);
    if (store.hasOutcome(agentId)) throw corruptRun(pathOf('outcome.json'));
    throw unwritten(agentId, pathOf('.'), this.#problems.get(agentId));
  }

  /** Resolves once an ended agent has its page in the workspace. */
  async paged(agentId: string): Promise<void> {
    await this.#with.pages?.ensure(agentId);
  }

  /**
   * Resolves once the process that recorded an end has cleaned up after the
   * run, such as by removing a worktree, or is gone or stuck.
   */
  async followUp({ agent_id: id }: RunRecord, outcome: Outcome): Promise<void> {
    const { store, processes } = this.#with;
    await this.#finalizing.get(id)?.catch(() => undefined);
    const directory = store.directoryOf(id);
    // One that never started may be prepared for long after its end.
    if (outcome.started_at === null) return;
    const isAtWork = () =>
      isBeingFinalized(outcome, ageOf(directory), directory, processes);
    while (store.isOpen(id) && isAtWork()) await delay(20);
  }

  /** Finalizes a run that has ended. Returns its status afterwards. */
  async refresh(record: RunRecord): Promise<Status> {
    const { store, processes, starter } = this.#with;
    const { agent_id: id } = record;
    if (store.hasOutcome(id)) return 'ended';
    if (starter.isQueued(record)) return 'queued';
    const directory = store.directoryOf(id);
    const stateOf = starter.hasStarted(id) ? ownStateOf : liveStateOf;
    let state = stateOf(record, directory, processes);
    if (state === 'orphaned') {
      starter.takeOver(record);
      state = liveStateOf(record, directory, processes);
    }
    if (!isOverIn(state)) return statusOf(state, record);
    if (isForItsPlace(record, directory, processes)) return 'running';
    if (this.#isUnjudged(record)) {
      if (isForOthers(record, directory, processes)) return 'running';
      if (this.#cleared.has(id)) return 'ended';
    }
    await this.#finalize(record, state);
    if (store.hasOutcome(id)) return 'ended';
    return statusOf(liveStateOf(record, directory, processes), record);
  }

  /** Like `refresh`, by id. Does nothing for an unknown id. */
  async look(agentId: string): Promise<void> {
    const record = this.#with.store.recordOf(agentId);
    if (record) await this.refresh(record);
  }

  /** True if this process will publish a run's end: callers need not poll. */
  isFollowed(agentId: string): boolean {
    const { starter, store } = this.#with;
    return starter.hasStarted(agentId) && !store.hasOutcome(agentId);
  }

  /** Runs that are queued or running, oldest first. */
  async active(): Promise<readonly Run[]> {
    return (await this.standing()).active;
  }

  /** The status of all open runs, when it is called or a moment later. */
  standing(): Promise<OpenRuns> {
    return this.#rounds.result();
  }

  /** Awaits only what seems to have ended: most runs need no promise. */
  async #standing(): Promise<OpenRuns> {
    const { store } = this.#with;
    const all = store.openIds().flatMap((id) => {
      const record = store.recordOf(id);
      return record ? [{ record, status: this.#statusNow(record) }] : [];
    });
    const ending = all.filter(({ status }) => status === undefined);
    await Promise.all(
      ending.map(async (one) => {
        one.status = await this.#statusSoon(one.record, ending.length);
      })
    );
    // A run may have ended while another one was awaited.
    const isOver = ({ agent_id: id }: RunRecord) =>
      ending.length > 0 && store.hasOutcome(id);
    const active: Run[] = [];
    const over: string[] = [];
    for (const { record, status } of all)
      if (status === undefined || status === 'ended' || isOver(record))
        over.push(record.agent_id);
      else active.push({ record, status });
    return { active, over };
  }

  /** Undefined for a run that seems to have ended. */
  #statusNow(record: RunRecord): Status | undefined {
    const { store, processes, starter } = this.#with;
    const { agent_id: id } = record;
    if (starter.isQueued(record)) return 'queued';
    if (store.hasOutcome(id)) return 'ended';
    if (starter.hasStarted(id)) return 'running';
    const state = liveStateOf(record, store.directoryOf(id), processes);
    return isOverIn(state) ? undefined : statusOf(state, record);
  }

  /**
   * Waits a limited time for the end of a run to be recorded. Stopping leftover
   * processes may take seconds, and the run counts as ended then.
   */
  async #statusSoon(record: RunRecord, among: number): Promise<Status> {
    const { store, processes } = this.#with;
    const directory = store.directoryOf(record.agent_id);
    const ms = settlingMs(directory, record.owner.place, among);
    const status = await withTimeout(this.refresh(record), ms, undefined);
    if (status) return status;
    return statusOf(liveStateOf(record, directory, processes), record);
  }

  /** The reply of a running agent so far. */
  async reply(agentId: string): Promise<Reply | undefined> {
    const record = this.#with.store.recordOf(agentId);
    return record && (await this.#output.reply(record))?.reply;
  }

  /** The latest text or progress of a running agent, as one line. */
  lastWords(record: RunRecord): string | undefined {
    return this.#output.lastWords(record);
  }

  /** Checks every open run. Called about once a second. */
  async tick(): Promise<void> {
    const open = new Set(this.#with.store.openIds());
    // Drops the state of runs that another server has finalized.
    for (const id of [...this.#output.known(), ...this.#watchdog.known()])
      if (!open.has(id)) this.#forget(id);
    this.#outcomes.keep(open);
    const check = (id: string) =>
      this.#check(id).catch((problem) => this.#report(id, problem));
    // In parallel, because a run that is slow to stop must not delay others.
    await Promise.all([...open].map(check));
  }

  async #check(id: string): Promise<void> {
    const { store, processes, journal, starter } = this.#with;
    // Its spawn journals it, and its end if it was refused.
    if (starter.slots.coming.has(id)) return;
    const record = store.recordOf(id);
    if (!record) return store.giveUpUnused(id);
    const outcome = store.hasOutcome(id) ? store.outcomeOf(id) : undefined;
    if (outcome) {
      if (this.#finalizing.has(id)) return;
      // The time of the file may be that of another clock.
      const ageMs = this.#outcomes.of(id);
      const directory = store.directoryOf(id);
      if (!isBeingFinalized(outcome, ageMs, directory, processes))
        await completeEnd(record, outcome, this.#with);
      return;
    }
    const state = await this.refresh(record);
    if (state === 'ended') return;
    if (isSameProcess(record.owner, processes.self))
      await journal.restoreSpawn(record);
    if (state !== 'running') return;
    await this.#enforce(record);
    this.#with.asks?.attend(record);
  }

  /** Stops a run that is past a limit its watchdog has not enforced. */
  async #enforce(record: RunRecord): Promise<void> {
    const { store, processes, starter } = this.#with;
    const { agent_id: id, owner } = record;
    const directory = store.directoryOf(id);
    // This process cannot stop the run; the watchdog on its machine does.
    if (!starter.hasStarted(id) && isUnseen(record, directory, processes))
      return;
    // Its server may have died before the start, which is no limit passed.
    if (!wasClaimed(directory)) return;
    // Only one of the servers reads the output.
    const { self, liveness } = processes;
    const isReader = owner.pid === self.pid || liveness(owner) === 'dead';
    const said =
      record.retry_seconds && isReader
        ? await this.#output.reply(record)
        : undefined;
    const isAsking = this.#with.asks?.isAsking(record);
    const passed = this.#watchdog.passed(record, directory, said, isAsking);
    // The run may have ended while its output was read.
    if (!passed || hasExited(directory)) return;
    await processes.stop({
      ...{ directory, place: owner.place, withNested: true },
      request: passed
    });
    await this.refresh(record);
  }

  /** Runs once at a time for each run. */
  #finalize(record: RunRecord, state: 'ended' | 'lost'): Promise<void> {
    const { agent_id: id } = record;
    const running = this.#finalizing.get(id);
    if (running) return running;
    const work = this.#finalizeNow(record, state).finally(() =>
      this.#finalizing.delete(id)
    );
    this.#finalizing.set(id, work);
    // Leftover processes may be slow to stop, so the delay is published.
    const report = () => this.#with.events.runDelayed(record);
    const timer = setTimeout(report, slowEndMs);
    work.finally(() => clearTimeout(timer)).catch(() => undefined);
    return work;
  }

  async #finalizeNow(
    record: RunRecord,
    state: 'ended' | 'lost'
  ): Promise<void> {
    const { store, processes, events } = this.#with;
    const { agent_id: id } = record;
    const directory = store.directoryOf(id);
    if (!(await isOver(record, directory, processes))) return;
    const wasWatched = this.#watchdog.knows(id);
    await endLeftovers(record, state, wasWatched, this.#with);
    if (this.#isUnjudged(record)) {
      this.#cleared.add(id);
      return events.runChanged(record);
    }
    this.#watchdog.noteTruncation(id, directory);
    await this.#throttle.turn();
    try {
      await finalize(record, this.#with);
    } catch (problem) {
      if (limitError(problem)) throw problem;
      if (isFull(problem)) noteLoss(directory, 'full');
      this.#problems.set(id, problem);
      return this.#report(id, problem);
    }
    this.#problems.delete(id);
    this.#forget(id);
  }

  /** True for an ended run that only a server with its engine can finalize. */
  #isUnjudged(record: RunRecord): boolean {
    const { store, engineOf } = this.#with;
    const { agent_id: id, kind, owner } = record;
    return (
      !readableOf(kind, engineOf(record)) &&
      !store.hasOutcome(id) &&
      claimOf(store.directoryOf(id), owner.place)?.supervisor !== undefined
    );
  }

  /** Ignores a run that was finalized elsewhere and cleaned away. */
  #report(id: string, problem: unknown): void {
    const { store, onProblem } = this.#with;
    if (store.has(id)) onProblem(problem);
  }

  #forget(id: string): void {
    this.#with.journal.forget(id);
    this.#output.forget(id);
    this.#watchdog.forget(id);
  }
}
