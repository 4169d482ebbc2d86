import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HostError, messageOf, storageError } from '../errors.ts';
import type { Admission } from '../runs/admission/admission.ts';
import { withTimeout } from '../timing.ts';
import {
  type CreateParts,
  type CreateWorker,
  newWorker,
  notReady,
  notStarted,
  serverEnded,
  untilReady
} from './process/create-worker.ts';
import { WorkerProcess } from './process/worker-process.ts';
import {
  type ReconcilerParts,
  WorkerReconciler
} from './process/worker-reconciler.ts';
import { canceled, type ExitPolicy, stopped } from './queue/exit-policy.ts';
import { storePayload } from './queue/payload.ts';
import type { NewEvent, WorkerMeta } from './queue/records.ts';
import {
  agentOver,
  alreadyDone,
  type TaskQueue,
  unknownTask
} from './queue/task-queue.ts';
import type { Change } from './queue/worker-log.ts';
import type { Worker, WorkerStore } from './queue/worker-store.ts';

export interface OrchestratorParts extends CreateParts, ReconcilerParts {
  settings: CreateParts['settings'];
  admission: Pick<Admission, 'checkDepth' | 'checkRate' | 'count'>;
  /** Returns an id that no agent has. */
  newId: () => string;
}

/** `current_window`: with a pane in the window that new panes open in. */
export type Scope = 'run' | 'current_window' | 'all';

const pollMs = 40;
/** How long a caller waits for a reconcile, which may have to end programs. */
const reconcileMs = 300;
/** The wait before a creation, to notice the workers of an ended server. */
const reconcileFirstMs = 1000;
/** How long `close` waits until a worker's end is recorded. */
const recordMs = 500;
/** How long `delete` waits for a worker without tasks to stop. */
const stopMs = 12_000;

/** A worker that was not returned to its caller is never restarted. */
const neverRestart: ExitPolicy = { restart: 'never', runningTask: 'fail' };

/** Creates workers, adds tasks to their queues, and deletes them. */
export class Orchestrator {
  readonly store: WorkerStore;
  readonly #with: OrchestratorParts;
  readonly #program: WorkerProcess;
  readonly #reconciler: WorkerReconciler;
  readonly #creating = new Set<Promise<Worker>>();
  /** Ids of the workers that this server created. */
  readonly #own = new Set<string>();
  #isClosed = false;
  #runId: string | undefined;

  constructor(parts: OrchestratorParts) {
    this.store = parts.store;
    this.#with = parts;
    this.#program = new WorkerProcess(parts);
    this.#reconciler = new WorkerReconciler(parts, this.#program);
  }

  /**
   * Starts a worker; resolves when it has asked for work.
   * @throws HostError `not_ready` with the last lines of its screen, and
   *   `depth_limit`, `spawn_rate`, `unknown_engine`, `not_a_worker`,
   *   `not_installed`, `cwd_outside`, `cwd_missing`, `window_full`,
   *   `no_terminal`, `terminal_failed`, `storage_full`, `storage_unwritable`,
   *   `state_locked`: then nothing is left running
   */
  async create(request: CreateWorker): Promise<Worker> {
    const creating = this.#create(request);
    this.#creating.add(creating);
    try {
      return await creating;
    } finally {
      this.#creating.delete(creating);
    }
  }

  /** Appends a task to a worker's queue; returns its position, from 0. */
  async enqueue(
    agentId: string,
    task: { id?: string | undefined; payload: unknown }
  ): Promise<{ taskId: string; position: number }> {
    const worker = this.store.get(agentId);
    const taskId = task.id ?? randomBytes(4).toString('hex');
    // Checked before the payload is stored: a refused call writes no file.
    checkAccepts(worker.meta, worker.log.read(), taskId);
    const payload = storePayload(task.payload, worker.folder);
    return this.#change(worker, (queue) => {
      checkAccepts(worker.meta, queue, taskId);
      const position = queue.tasks.length;
      return {
        commands: [{ type: 'task', task_id: taskId, ...payload }],
        result: { taskId, position }
      };
    });
  }

  /** Cancels a waiting task, or asks the worker to end a running one. */
  async cancel(
    agentId: string,
    taskId: string
  ): Promise<'cancel_requested' | 'canceled'> {
    return this.#change(this.store.get(agentId), (queue) => {
      if (queue.hasEnded(taskId)) throw alreadyDone(taskId);
      const task = queue.task(taskId);
      if (!task) throw unknownTask(taskId);
      if (task.isCancelWanted && task.isRunning)
        return { result: 'cancel_requested' };
      const commands = [{ type: 'cancel' as const, task_id: taskId }];
      if (task.isRunning) return { commands, result: 'cancel_requested' };
      return { commands, events: [canceled(taskId)], result: 'canceled' };
    });
  }

  /**
   * Ends a worker when its tasks are done, or at once by force.
   * @throws HostError `unknown_agent`, `needs_confirm`
   */
  async delete(
    agentId: string,
    { force, confirm }: { force: boolean; confirm: boolean }
  ): Promise<Worker> {
    const reconciler = this.#reconciler;
    await reconciler.endLost(agentId);
    const worker = this.store.get(agentId);
    await reconciler.reconcileOne(worker);
    const wasOver = worker.log.read().isOver;
    const checkConfirm = (queue: TaskQueue) => {
      if (force && !confirm && queue.running)
        throw new HostError(
          'needs_confirm',
          `Worker ${agentId} is at work on task ${queue.running.id}.`,
          'With force it ends during that task: add confirm: true. Without force it finishes first.'
        );
    };
    // Checked first without the lock, because `force` may not get it below.
    checkConfirm(worker.log.read());
    const requestStop = () =>
      this.#change(worker, (queue) => {
        const { state } = queue;
        checkConfirm(queue);
        if (queue.isOver)
          return { events: leftovers(queue), result: undefined };
        if (state.stopAfter !== null && !force) return { result: undefined };
        const payload = force ? { payload: { force: true } } : {};
        return { commands: [{ type: 'stop', ...payload }], result: undefined };
      });
    try {
      await requestStop();
    } catch (error) {
      const isRefused =
        error instanceof HostError && error.code === 'needs_confirm';
      if (!force || isRefused) throw error;
      // Neither a full disk nor a held lock may keep the worker alive.
      await reconciler.endProgram(worker);
      await requestStop();
    }
    // The pane of a crashed worker may have been kept open.
    if (wasOver) await this.#program.closePane(worker);
    else if (force) {
      await reconciler.reconcileOne(worker);
      // The first call may have joined a check that began before the stop.
      if (!worker.log.read().isOver) await reconciler.reconcileOne(worker);
    } else await this.#untilStopped(worker);
    return worker;
  }

  /** Workers in their current state, oldest first. */
  async list(scope: Scope): Promise<Worker[]> {
    await withTimeout(this.attend(), reconcileMs, undefined);
    const all = this.store.all();
    if (scope === 'all') return all;
    const run = this.#lastRun(all);
    const ours = all.filter(({ meta }) => meta.run_id === run);
    if (scope === 'run') return ours;
    const sockets = ours.flatMap(({ meta }) => meta.pane?.socket ?? []);
    const panes = await this.#with.terminal.panes([...new Set(sockets)]);
    const here = new Set(
      panes.filter(({ isHere }) => isHere).map(({ agentId }) => agentId)
    );
    return all.filter(({ meta }) =>
      // A worker without a pane is in no window, so its run decides.
      meta.backend === 'process' ? meta.run_id === run : here.has(meta.agent_id)
    );
  }

  /** Reconciles one worker, and waits for it briefly. Never throws. */
  async look(worker: Worker): Promise<void> {
    const reconciled = this.#reconciler.reconcileOne(worker);
    await withTimeout(reconciled, reconcileMs, undefined);
  }

  /** Reconciles all workers. Never throws. */
  attend(): Promise<void> {
    return this.#reconciler.reconcile();
  }

  /**
   * Waits until pending creations have failed, and closes the store.
   * @param stop also ends the workers that this server created
   */
  async close(stop: boolean): Promise<void> {
    const own = stop ? [...this.#own] : [];
    this.#isClosed = true;
    await Promise.allSettled([
      ...this.#creating,
      ...own.map(async (id) => {
        const worker = this.store.find(id);
        if (!worker) return this.#reconciler.endLost(id);
        if (worker.log.read().isOver) return;
        const deleted = this.delete(id, { force: true, confirm: true });
        // A process that holds the lock must not keep the worker alive.
        await withTimeout(
          deleted.catch(() => undefined),
          recordMs,
          undefined
        );
        await this.#reconciler.endProgram(worker);
        await deleted;
      })
    ]);
    this.store.close();
  }

  async #create(input: CreateWorker): Promise<Worker> {
    const { admission } = this.#with;
    const program = this.#program;
    admission.checkDepth();
    const worker = await this.#recordNew(input);
    admission.count();
    try {
      await this.#with.enter(worker.meta.cwd);
      if (this.#isClosed) throw notReady(worker.meta, serverEnded, []);
      await program.start(worker, 1);
    } catch (error) {
      // No program ran, so there is nothing to keep.
      await program.closePane(worker).catch(() => undefined);
      this.store.discard(worker.meta.agent_id);
      const problem = storageError(error, worker.folder.private);
      if (problem instanceof HostError) throw problem;
      throw notStarted(worker.meta, error);
    }
    try {
      await untilReady(
        worker,
        program,
        1000 * this.#with.terms.readyTimeoutSeconds,
        input.patienceMs,
        () => this.#isClosed
      );
      this.#own.add(worker.meta.agent_id);
      this.#reconciler.remember(worker);
      // Published now, so that a caller finds the worker in the broadcast.
      await this.#reconciler.publishSoon(worker);
      return worker;
    } catch (error) {
      const lines = await program.lastLines(worker, 1).catch(() => []);
      await this.#reconciler.end(worker, messageOf(error), neverRestart);
      if (error instanceof HostError) throw error;
      throw notReady(worker.meta, messageOf(error), lines);
    }
  }

  async #recordNew(input: CreateWorker): Promise<Worker> {
    await withTimeout(this.attend(), reconcileFirstMs, undefined);
    const { metaFor, request } = await newWorker(this.#with, input);
    this.#with.admission.checkRate();
    // Under the lock, so that the first workers of two servers join one run.
    return this.store.withLock(() => {
      const meta = metaFor(this.#with.newId(), this.#currentRun());
      return this.store.create(meta, request, (folder) =>
        this.#program.announce(folder, 1)
      );
    });
  }

  /** The run of the newest living worker, else this server's own. */
  #currentRun(): string {
    const newest = this.#reconciler
      .living()
      .map(({ meta }) => meta)
      .toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1))[0];
    this.#runId = newest?.run_id ?? this.#runId ?? this.store.newRunId();
    return this.#runId;
  }

  /** The run of a living worker, else this server's, else the newest. */
  #lastRun(all: Worker[]): string | undefined {
    const living = all.findLast(({ log }) => !log.read().isOver);
    const last = living ?? all.at(-1);
    return living?.meta.run_id ?? this.#runId ?? last?.meta.run_id;
  }

  /** Waits until the worker has stopped; returns at once if it has tasks. */
  async #untilStopped({ log }: Worker): Promise<void> {
    const began = performance.now();
    while (performance.now() - began < stopMs) {
      const queue = log.read();
      if (queue.isOver || queue.tasks.length > 0) return;
      await this.attend();
      await delay(pollMs);
    }
  }

  /** Changes a worker's logs and publishes its events. */
  async #change<Result>(
    worker: Worker,
    work: (queue: TaskQueue) => Change<Result>
  ): Promise<Result> {
    const result = await worker.log.change(work);
    await this.#reconciler.publishSoon(worker);
    return result;
  }
}

/** Ends the tasks that a crashed worker left in its queue. */
function leftovers(queue: TaskQueue): NewEvent[] {
  if (queue.state.phase === 'stopped') return [];
  return stopped(queue, 'it was deleted').events;
}

/** @throws HostError `agent_over`, `task_exists` */
function checkAccepts(
  meta: WorkerMeta,
  queue: TaskQueue,
  taskId: string
): void {
  if (queue.isOver || queue.state.stopAfter !== null)
    throw agentOver(meta.agent_id, queue.isOver ? queue.status : 'stopping');
  if (queue.task(taskId) || queue.hasEnded(taskId))
    throw new HostError(
      'task_exists',
      `Worker ${meta.agent_id} has had a task ${taskId} already.`,
      'Give another task_id, or none: then one is made.'
    );
}
