import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import { soon } from '../soon.ts';
import { remove } from '../state/atomic-file.ts';
import type { NewEvent, Terms } from './records.ts';
import type { TaskQueue } from './task-queue.ts';
import { type EndPolicy, endingOf, pauseMs, restOf } from './worker-end.ts';
import type { WorkerStart } from './worker-start.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

export type EnderSettings = Omit<Terms, 'maker' | 'onDisconnect'>;

export interface EnderParts {
  store: WorkerStore;
  start: WorkerStart;
  settings: EnderSettings;
  onProblem: (problem: unknown) => void;
}

const tellMs = 1000;

/** Ends the programs of workers, and does what follows from their ends. */
export class WorkerEnder {
  readonly #with: EnderParts;

  constructor(parts: EnderParts) {
    this.#with = parts;
  }

  /**
   * Ends what is left of a worker's program, and does what follows.
   * @param policy in place of what was settled when it was made
   */
  async end(
    worker: Worker,
    reason?: string,
    policy: EndPolicy = this.#policyFor(worker)
  ): Promise<void> {
    const { start } = this.#with;
    const { generation } = worker.log.read().state;
    const screen = await start.lastLines(worker, generation).catch(() => []);
    await start.end(worker, generation, reason);
    const said = start.reasonOf(worker, generation) ?? reason;
    const facts = {
      exitCode: start.exitCodeOf(worker, generation),
      screen,
      isDisconnected: start.isDisconnected(worker),
      ...(said === undefined ? {} : { reason: said })
    };
    let isRestarting = false;
    await this.record(worker, (queue) => {
      // Another server was faster.
      if (queue.isOver || queue.state.generation !== generation) return [];
      const ending = endingOf(queue, policy, facts);
      isRestarting = ending.isRestarting;
      if (isRestarting) start.announce(worker.folder, generation + 1);
      return ending.events;
    });
    // It need not wait until all can be told.
    if (isRestarting) void this.#restart(worker, generation + 1);
    if (worker.log.read().isOver) await this.leave(worker);
    else await this.publish(worker);
  }

  /** Never throws. */
  async #restart(worker: Worker, generation: number): Promise<void> {
    const { start, onProblem } = this.#with;
    const isWanted = () => {
      const { state, isOver } = worker.log.read();
      return !isOver && !state.isForced && state.generation === generation;
    };
    try {
      const { readyTimeoutSeconds } = this.termsOf(worker);
      const longestMs = 500 * Math.min(readyTimeoutSeconds, 40);
      const pause = pauseMs(worker.log.read(), longestMs);
      await delay(pause, undefined, { ref: false });
      // It may have been deleted meanwhile, also while it was started.
      if (!isWanted()) return;
      await start.start(worker, generation);
      if (isWanted()) return;
      await start.end(worker, generation);
      if (worker.log.read().isOver) await this.closePane(worker);
    } catch (problem) {
      onProblem(
        `Worker ${worker.meta.agent_id} could not be started again: ${messageOf(problem)}`
      );
    }
  }

  /** Ends a worker's program, though nothing can be written down. */
  async endProgram(worker: Worker): Promise<void> {
    const { generation } = worker.log.read().state;
    await this.#with.start.end(worker, generation);
  }

  /** The rest of an end, which others may have begun. */
  async leave(worker: Worker): Promise<void> {
    await this.record(worker, restOf);
    const { phase } = worker.log.read().state;
    const { keepFailedPane } = this.termsOf(worker);
    const isKept = phase === 'crashed' && keepFailedPane;
    if (!isKept) await this.closePane(worker);
    await this.publish(worker);
    // It may hold secrets, and nobody starts this worker again. The last, as
    // it says that all is done.
    remove(worker.folder.request);
  }

  /** Of the server that made it, as long as that can be known. */
  termsOf({ meta }: Worker): EnderSettings {
    return this.#with.store.termsOf(meta.agent_id) ?? this.#with.settings;
  }

  /** Nobody's program is started again for whom we cannot vouch. */
  #policyFor(worker: Worker): EndPolicy {
    return this.#with.store.isOurs(worker.meta.agent_id)
      ? this.termsOf(worker)
      : { restart: 'never', runningTask: 'fail' };
  }

  closePane(worker: Worker): Promise<void> {
    return this.#with.start.closePane(worker);
  }

  /** Writes down what befell a worker. */
  async record(
    { log }: Worker,
    work: (queue: TaskQueue) => NewEvent[]
  ): Promise<void> {
    await log.change((queue) => ({ events: work(queue), told: undefined }));
  }

  /** The same, but nobody waits for it long: whoever comes next can do it. */
  async tell(worker: Worker): Promise<void> {
    const told = this.publish(worker).catch(this.#with.onProblem);
    await soon(told, tellMs, undefined);
  }

  /** Tells all what they have not been told of it. */
  async publish({ meta, log }: Worker): Promise<void> {
    await this.#with.store.broadcastOf(meta.run_id).publish(meta.agent_id, log);
  }
}
