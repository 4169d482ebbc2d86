import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HostError } from '../errors.ts';
import { soon } from '../soon.ts';
import type { Attendant } from './attendant.ts';
import type { CreateWorker, WorkerCreator } from './create-worker.ts';
import type { Change } from './log-writer.ts';
import { placed } from './payload.ts';
import type { NewEvent, WorkerMeta } from './records.ts';
import {
  agentOver,
  alreadyDone,
  needsConfirm,
  unknownTask
} from './refusals.ts';
import type { TaskQueue } from './task-queue.ts';
import type { Terminal } from './terminal.ts';
import { canceled } from './worker-end.ts';
import type { WorkerEnder } from './worker-ender.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

export interface OrchestratorParts {
  store: WorkerStore;
  attendant: Attendant;
  ender: WorkerEnder;
  creator: WorkerCreator;
  terminal: Terminal;
}

/** `run`: made together; `current_window`: seen beside the user. */
export type Scope = 'run' | 'current_window' | 'all';

const pollMs = 40;
/** A look may end others, which takes longer than anybody wants to wait. */
const attendMs = 300;
/** For writing down that a worker is to end, before it is ended. */
const markMs = 500;
/** A worker that has nothing to do is gone by then. */
const stopMs = 12_000;

/** The master's side: makes workers, gives them tasks, ends them. */
export class Orchestrator {
  readonly store: WorkerStore;
  readonly #with: OrchestratorParts;

  constructor(parts: OrchestratorParts) {
    this.store = parts.store;
    this.#with = parts;
  }

  /** See `WorkerCreator.create`. */
  create(request: CreateWorker): Promise<Worker> {
    return this.#with.creator.create(request);
  }

  /** Puts a task at the end of a worker's queue; gives its place there. */
  async enqueue(
    agentId: string,
    task: { id?: string | undefined; payload: unknown }
  ): Promise<{ taskId: string; position: number }> {
    const worker = this.store.get(agentId);
    const taskId = task.id ?? randomBytes(4).toString('hex');
    // Refused first, so that no file is written for nothing.
    check(worker.meta, worker.log.read(), taskId);
    const payload = placed(task.payload, worker.folder);
    return this.#change(worker, (queue) => {
      check(worker.meta, queue, taskId);
      const position = queue.tasks.length;
      return {
        commands: [{ type: 'task', task_id: taskId, ...payload }],
        told: { taskId, position }
      };
    });
  }

  /** Asks for the end of a running task, or ends one that waits. */
  async cancel(
    agentId: string,
    taskId: string
  ): Promise<'cancel_requested' | 'canceled'> {
    return this.#change(this.store.get(agentId), (queue) => {
      if (queue.hasEnded(taskId)) throw alreadyDone(taskId);
      const task = queue.task(taskId);
      if (!task) throw unknownTask(taskId);
      if (task.isCancelWanted && task.isRunning)
        return { told: 'cancel_requested' };
      const commands = [{ type: 'cancel' as const, task_id: taskId }];
      if (task.isRunning) return { commands, told: 'cancel_requested' };
      return { commands, events: [canceled(taskId)], told: 'canceled' };
    });
  }

  /**
   * Ends a worker: when its tasks are done, or by force.
   * @throws HostError `unknown_agent`, `needs_confirm`
   */
  async delete(
    agentId: string,
    { force, confirm }: { force: boolean; confirm: boolean }
  ): Promise<Worker> {
    const { attendant, ender } = this.#with;
    const worker = this.store.get(agentId);
    await attendant.look(worker);
    const wasOver = worker.log.read().isOver;
    const checkConfirm = (queue: TaskQueue) => {
      if (force && !confirm && queue.running)
        throw needsConfirm(agentId, queue.running.id);
    };
    // Before anything, as what follows may have to do without the lock.
    checkConfirm(worker.log.read());
    const ask = () =>
      this.#change(worker, (queue) => {
        const { state } = queue;
        checkConfirm(queue);
        if (queue.isOver) return { events: leftovers(queue), told: undefined };
        if (state.stopAfter !== null && !force) return { told: undefined };
        const payload = force ? { payload: { force: true } } : {};
        return { commands: [{ type: 'stop', ...payload }], told: undefined };
      });
    try {
      await ask();
    } catch (error) {
      const isRefused =
        error instanceof HostError && error.code === 'needs_confirm';
      if (!force || isRefused) throw error;
      // A full disk, or a lock that it holds itself, must not keep it alive.
      await ender.endProgram(worker);
      await ask();
    }
    // Its pane may have been left to be looked at.
    if (wasOver) await ender.closePane(worker);
    else if (force) {
      await attendant.look(worker);
      // That one may have begun before it was asked to end.
      if (!worker.log.read().isOver) await attendant.look(worker);
    } else await this.#untilStopped(worker);
    return worker;
  }

  /** Workers as they stand now, oldest first. */
  async list(scope: Scope): Promise<Worker[]> {
    await soon(this.attend(), attendMs, undefined);
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
      // Without a pane it is in no window, and of this run at most.
      meta.backend === 'process' ? meta.run_id === run : here.has(meta.agent_id)
    );
  }

  /** Looks after one, but not for long. Never throws. */
  async look(worker: Worker): Promise<void> {
    await soon(this.#with.attendant.look(worker), attendMs, undefined);
  }

  /** Looks after all workers. Never throws. */
  attend(): Promise<void> {
    return this.#with.attendant.attend();
  }

  /**
   * Lets go of the workers, or ends those that this server has made.
   * @param stop what becomes of them
   */
  async close(stop: boolean): Promise<void> {
    const { creator, ender } = this.#with;
    const own = stop ? [...creator.own] : [];
    await Promise.allSettled([
      creator.close(),
      ...own.map(async (id) => {
        const worker = this.store.find(id);
        if (!worker || worker.log.read().isOver) return;
        const deleted = this.delete(id, { force: true, confirm: true });
        // Whoever holds its lock must not keep it alive.
        await soon(
          deleted.catch(() => undefined),
          markMs,
          undefined
        );
        await ender.endProgram(worker);
        await deleted;
      })
    ]);
    this.store.close();
  }

  /** The run of this server, or the last one there was. */
  #lastRun(all: Worker[]): string | undefined {
    const living = all.findLast(({ log }) => !log.read().isOver);
    const last = living ?? all.at(-1);
    return living?.meta.run_id ?? this.#with.creator.runId ?? last?.meta.run_id;
  }

  /** Waits, but not for what it has to finish first. */
  async #untilStopped({ log }: Worker): Promise<void> {
    const began = performance.now();
    while (performance.now() - began < stopMs) {
      const queue = log.read();
      if (queue.isOver || queue.tasks.length > 0) return;
      await this.#with.attendant.attend();
      await delay(pollMs);
    }
  }

  /** Changes a worker's logs, and tells all what came of it. */
  async #change<Told>(
    worker: Worker,
    work: (queue: TaskQueue) => Change<Told>
  ): Promise<Told> {
    const told = await worker.log.change(work);
    await this.#with.ender.tell(worker);
    return told;
  }
}

/** What a worker that is over left in its queue. */
function leftovers(queue: TaskQueue): NewEvent[] {
  if (queue.state.phase === 'stopped') return [];
  const tasks = queue.tasks.map(({ id }) => canceled(id, 'it was deleted'));
  return [...tasks, { type: 'stopped', by: 'troupe' }];
}

function check(meta: WorkerMeta, queue: TaskQueue, taskId: string): void {
  if (queue.isOver || queue.state.stopAfter !== null)
    throw agentOver(meta.agent_id, queue.isOver ? queue.status : 'stopping');
  if (queue.task(taskId) || queue.hasEnded(taskId))
    throw new HostError(
      'task_exists',
      `Worker ${meta.agent_id} has had a task ${taskId} already.`,
      'Give another task_id, or none: then one is made.'
    );
}
