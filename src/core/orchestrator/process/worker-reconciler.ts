import { existsSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { isOverIn } from '../../runs/run-state.ts';
import { remove } from '../../state/files/atomic-file.ts';
import { processMarks } from '../../state/locks/process-marks.ts';
import { Ages, withTimeout } from '../../timing.ts';
import {
  type ExitPolicy,
  endingOf,
  missingAfterCrash,
  pauseMs
} from '../queue/exit-policy.ts';
import type { NewEvent, Terms } from '../queue/records.ts';
import type { TaskQueue } from '../queue/task-queue.ts';
import type { Worker } from '../queue/worker-store.ts';
import { LostWorkers } from './lost-workers.ts';
import type { ProcessParts, WorkerProcess } from './worker-process.ts';

export interface ReconcilerParts extends ProcessParts {
  /** The settings of workers that this server creates. */
  terms: Terms;
}

/** A stopping program without a sign of life is ended after this time. */
const stopGraceMs = 2000;
/** Any stopping program is ended after this time. */
const longestStopMs = 10_000;

/** A program has this long to start a new server in place of a killed one. */
const unservedMs = 10_000;

/** The least interval at which copies in the workspace are checked. */
const viewsMs = 900;

/** The longest wait for a publish; the next process that publishes retries. */
const publishMs = 1000;

/**
 * Reconciles the state of workers with their programs: records crashes and
 * stalls, restarts programs, and ends programs that should not run. Any number
 * of servers may do so at once: every decision is made under a lock.
 */
export class WorkerReconciler {
  readonly #with: ReconcilerParts;
  readonly #program: WorkerProcess;
  readonly #ages = new Ages();
  /** Workers that will never change again. */
  readonly #over = new Set<string>();
  /** The last problem that was reported about each subject. */
  readonly #reported = new Map<string, string>();
  #isRepaired = false;
  readonly #reconciling = new Map<string, Promise<void>>();
  readonly #lost: LostWorkers;
  #viewsAt = Number.NEGATIVE_INFINITY;
  #viewStamp: string | undefined;

  constructor(parts: ReconcilerParts, program: WorkerProcess) {
    this.#with = parts;
    this.#program = program;
    this.#lost = new LostWorkers(parts, program);
  }

  /** Reconciles every worker that may still live. Never throws. */
  async reconcile(): Promise<void> {
    try {
      if (!this.#isRepaired) await this.#repairLogs();
      const workers = this.#unfinished();
      await Promise.all([
        ...workers.map((worker) => this.reconcileOne(worker)),
        this.#lost.reconcile(this.#over),
        this.#restoreViews(workers)
      ]);
    } catch (problem) {
      this.#report('The workers', problem);
    }
  }

  /** Never throws; concurrent calls share one check. */
  reconcileOne(worker: Worker): Promise<void> {
    const { agent_id: id } = worker.meta;
    const known = this.#reconciling.get(id);
    if (known) return known;
    const reconciling = this.#reconcileOne(worker)
      .catch((problem: unknown) => this.#report(`Worker ${id}`, problem))
      .finally(() => this.#reconciling.delete(id));
    this.#reconciling.set(id, reconciling);
    return reconciling;
  }

  living(): Worker[] {
    return this.#unfinished().filter(({ log }) => !log.read().isOver);
  }

  /** Remembers how to end a worker, should its record be removed. */
  remember(worker: Worker): void {
    this.#lost.note(worker);
  }

  /** Ends a worker if its record is gone; never throws. */
  endLost(agentId: string): Promise<void> {
    return this.#lost.end(agentId);
  }

  /**
   * Ends all processes of a worker's program, records the end, and restarts
   * the program where the policy says so.
   * @param policy overrides the worker's own
   * @param generation the program to end: meanwhile, there may be the next one
   */
  async end(
    worker: Worker,
    reason?: string,
    policy: ExitPolicy = this.#policyFor(worker),
    generation: number = worker.log.read().state.generation
  ): Promise<void> {
    const program = this.#program;
    const screen = await program.lastLines(worker, generation).catch(() => []);
    await program.terminate(worker, generation, reason);
    const stored = program.reasonOf(worker, generation) ?? reason;
    const facts = {
      exitCode: program.exitCodeOf(worker, generation),
      screen,
      isDisconnected: program.isDisconnected(worker),
      ...(stored === undefined ? {} : { reason: stored })
    };
    let isRestarting = false;
    await this.#record(worker, (queue) => {
      // Another server has recorded the end.
      if (queue.isOver || queue.state.generation !== generation) return [];
      const ending = endingOf(queue, policy, facts);
      isRestarting = ending.isRestarting;
      if (isRestarting) program.announce(worker.folder, generation + 1);
      return ending.events;
    });
    // The restart does not wait for the broadcast.
    if (isRestarting) void this.#restart(worker, generation + 1);
    if (worker.log.read().isOver) await this.#finish(worker);
    else await this.#publish(worker);
  }

  /** Ends a worker's program, even if nothing can be recorded. */
  async endProgram(worker: Worker): Promise<void> {
    const { generation } = worker.log.read().state;
    await this.#program.terminate(worker, generation);
  }

  /** Publishes a worker's events. Never throws, and gives up waiting early. */
  async publishSoon(worker: Worker): Promise<void> {
    const published = this.#publish(worker).catch(this.#with.onProblem);
    await withTimeout(published, publishMs, undefined);
  }

  async #reconcileOne(worker: Worker): Promise<void> {
    const program = this.#program;
    const terms = this.#termsOf(worker);
    const queue = worker.log.read();
    const { isReady, isForced, generation, phase } = queue.state;
    const end = (reason?: string) =>
      this.end(worker, reason, undefined, generation);
    if (queue.isOver) return this.#finish(worker);
    if (isForced || program.isDisconnected(worker)) return end();
    // The server that creates the worker waits for it, and reports a failure.
    if (!isReady && generation === 1 && !program.isOrphan(worker, generation))
      return;
    const state = program.stateOf(worker, generation);
    if (isOverIn(state)) return end();
    const mark = lifeMark(worker, queue);
    const hasBegun = program.hasBegun(worker, generation);
    const id = worker.meta.agent_id;
    const quietMs = this.#ages.of(id, `${mark} ${hasBegun}`);
    if (this.#isStopOverdue(worker, queue, quietMs)) return end();
    if (phase === 'working' && this.#isUnserved(worker))
      return end('its server ended, so it could not be reached');
    if (phase === 'waiting' && quietMs > 1000 * terms.readyTimeoutSeconds)
      return end('it did not get ready in time');
    const isSilent = quietMs > 1000 * terms.stalledAfterSeconds;
    if (phase !== 'working' || !isSilent || queue.state.isStalled) return;
    await this.#record(worker, (now) =>
      lifeMark(worker, now) === mark && now.state.phase === 'working'
        ? [{ type: 'stalled', by: 'troupe' }]
        : []
    );
    await this.#publish(worker);
  }

  /**
   * Whether a worker must stop, has no task left, and did not exit in time.
   * Some programs do not ask for work again, and some never stop asking.
   */
  #isStopOverdue({ meta }: Worker, queue: TaskQueue, quietMs: number): boolean {
    const { stopAfter, phase } = queue.state;
    const isDue = stopAfter !== null && queue.tasks.length === 0;
    const sinceMs = this.#ages.of(`${meta.agent_id} stop`, String(isDue));
    if (!isDue) return false;
    const isQuiet = phase === 'stopping' && quietMs > stopGraceMs;
    return phase === 'waiting' || isQuiet || sinceMs > longestStopMs;
  }

  /**
   * Whether the worker's server was killed, and its program started no other in
   * time. A killed server leaves its mark; a server that exits removes it.
   */
  #isUnserved({ meta, folder }: Worker): boolean {
    const marks = processMarks(folder.servers, this.#with.processes);
    const isLost = marks.length > 0 && marks.every(({ isAlive }) => !isAlive);
    const key = `${meta.agent_id} server`;
    return this.#ages.of(key, String(isLost)) > unservedMs && isLost;
  }

  /** Never throws. */
  async #restart(worker: Worker, generation: number): Promise<void> {
    const program = this.#program;
    const isWanted = () => {
      const { state, isOver } = worker.log.read();
      return !isOver && !state.isForced && state.generation === generation;
    };
    try {
      const { readyTimeoutSeconds } = this.#termsOf(worker);
      const longestMs = 500 * Math.min(readyTimeoutSeconds, 40);
      const pause = pauseMs(worker.log.read(), longestMs);
      await delay(pause, undefined, { ref: false });
      // The worker may be deleted during the pause, or during the start.
      if (!isWanted()) return;
      await program.start(worker, generation);
      if (isWanted()) return;
      await program.terminate(worker, generation);
      if (worker.log.read().isOver) await program.closePane(worker);
    } catch (problem) {
      this.#with.onProblem(
        `Worker ${worker.meta.agent_id} could not be started again: ${messageOf(problem)}`
      );
    }
  }

  /** Completes the end of a worker, which a killed process may have begun. */
  async #finish(worker: Worker): Promise<void> {
    await this.#record(worker, missingAfterCrash);
    const { phase } = worker.log.read().state;
    const isKept = phase === 'crashed' && this.#termsOf(worker).keepFailedPane;
    if (!isKept) await this.#program.closePane(worker);
    await this.#publish(worker);
    // No restart needs the request, which may hold secrets. Removed last,
    // because its absence means that the end is complete.
    remove(worker.folder.request);
  }

  /** Workers that are not over, or whose end is incomplete. */
  #unfinished(): Worker[] {
    const { store } = this.#with;
    const ids = store.ids().filter((id) => !this.#over.has(id));
    return ids
      .flatMap((id) => store.find(id) ?? [])
      .filter((worker) => this.#isUnfinished(worker));
  }

  #isUnfinished(worker: Worker): boolean {
    const { meta, folder, log } = worker;
    try {
      this.#lost.note(worker);
      const isOver = log.read().isOver && !existsSync(folder.request);
      if (isOver) this.#over.add(meta.agent_id);
      return !isOver;
    } catch (problem) {
      // A worker with unreadable files must not hide the other workers.
      this.#report(`Worker ${meta.agent_id}`, problem);
      return false;
    }
  }

  /** Moves aside the lines that killed processes left incomplete. */
  async #repairLogs(): Promise<void> {
    this.#isRepaired = true;
    const { store } = this.#with;
    const workers = store.ids().flatMap((id) => store.find(id) ?? []);
    for (const { log, meta } of workers)
      await log
        .repair()
        .catch((problem) => this.#report(`Worker ${meta.agent_id}`, problem));
    for (const run of new Set(workers.map(({ meta }) => meta.run_id)))
      await store
        .broadcastOf(run)
        .repair()
        .catch((problem) => this.#report(`The broadcast of ${run}`, problem));
  }

  /** Never throws. */
  async #restoreViews(unfinished: Worker[]): Promise<void> {
    const { store } = this.#with;
    const now = performance.now();
    if (now - this.#viewsAt < viewsMs) return;
    this.#viewsAt = now;
    const stamp = store.viewStamp();
    // Finished workers are checked only after a folder was added or removed.
    const workers = stamp === this.#viewStamp ? unfinished : store.all();
    this.#viewStamp = stamp;
    const restore = (view: { restore: () => Promise<void> }, name: string) =>
      view
        .restore()
        .catch((problem: unknown) =>
          this.#report(`The files in the workspace of ${name}`, problem)
        );
    const runs = new Set(workers.map(({ meta }) => meta.run_id));
    await Promise.all([
      ...workers.map(({ log, meta }) =>
        restore(log, `worker ${meta.agent_id}`)
      ),
      ...[...runs].map((run) => restore(store.broadcastOf(run), `run ${run}`))
    ]);
  }

  /** Reports a repeated problem once: checks run several times a second. */
  #report(subject: string, problem: unknown): void {
    const message = messageOf(problem);
    if (this.#reported.get(subject) === message) return;
    this.#reported.set(subject, message);
    this.#with.onProblem(`${subject} cannot be checked: ${message}`);
  }

  /** The worker's settings; this server's settings if they cannot be read. */
  #termsOf({ meta }: Worker): Omit<Terms, 'maker' | 'onDisconnect'> {
    return this.#with.store.termsOf(meta.agent_id) ?? this.#with.terms;
  }

  /** A worker whose record may come with the project is never restarted. */
  #policyFor(worker: Worker): ExitPolicy {
    return this.#with.store.isOurs(worker.meta.agent_id)
      ? this.#termsOf(worker)
      : { restart: 'never', runningTask: 'fail' };
  }

  async #record(
    { log }: Worker,
    work: (queue: TaskQueue) => NewEvent[]
  ): Promise<void> {
    await log.change((queue) => ({ events: work(queue), result: undefined }));
  }

  async #publish({ meta, log }: Worker): Promise<void> {
    await this.#with.store.broadcastOf(meta.run_id).publish(meta.agent_id, log);
  }
}

/** A text that changes with every sign of life. */
function lifeMark({ folder }: Worker, { state }: TaskQueue): string {
  const seen = statSync(folder.seen, { throwIfNoEntry: false, bigint: true });
  return `${state.generation} ${state.phase} ${state.eventSeq} ${seen?.mtimeNs}`;
}
