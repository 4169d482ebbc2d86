import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { soon } from '../soon.ts';
import { touch, writeOver } from '../state/own-file.ts';
import type { Broadcast } from './broadcast.ts';
import { placed } from './payload.ts';
import type { NewEvent } from './records.ts';
import { agentOver } from './refusals.ts';
import type { Task, TaskQueue } from './task-queue.ts';
import { canceled } from './worker-end.ts';
import { checkType, type EmitEvent, eventOf } from './worker-event.ts';
import type { WorkerFolder } from './worker-folder.ts';
import type { WorkerLog } from './worker-log.ts';

export interface WaitForCommand {
  timeoutMs: number;
  /** Aborted: nothing is delivered. */
  signal: AbortSignal;
}

/** What a worker is to do. */
export interface Given {
  type: 'task' | 'stop';
  task?: Task;
  /** It was given before. */
  redelivered?: boolean;
}

export interface Heard {
  given: Given | undefined;
  /** The last command there is. */
  cursor: number;
  cancelRequested: boolean;
}

export interface Emitted {
  /** Absent for what was recorded before. */
  seq?: number;
  cancelRequested: boolean;
}

/** A look costs two system calls, so that nobody need tell us. */
const pollMs = 40;
/** For a lock that others hold for a moment, whatever the caller's patience. */
const leastLockMs = 150;
/** The broadcast is made whole by whoever comes next. */
const publishMs = 1000;

/** How a worker is spoken to: by its own server, which knows no other. */
export class WorkerDesk {
  readonly #folder: WorkerFolder;
  readonly #log: WorkerLog;
  readonly #broadcast: Broadcast;
  readonly #heartbeatMs: number;
  readonly #onProblem: (problem: unknown) => void;

  constructor(parts: {
    folder: WorkerFolder;
    log: WorkerLog;
    broadcast: Broadcast;
    /** While it waits, it says so often that it lives. */
    heartbeatSeconds: number;
    onProblem: (problem: unknown) => void;
  }) {
    this.#folder = parts.folder;
    this.#log = parts.log;
    this.#broadcast = parts.broadcast;
    this.#heartbeatMs = 1000 * parts.heartbeatSeconds;
    this.#onProblem = parts.onProblem;
  }

  /**
   * The next thing to do, or nothing after some time. A task that has not
   * ended is given again, so that no answer that got lost loses it.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`
   */
  async waitForCommand({ timeoutMs, signal }: WaitForCommand): Promise<Heard> {
    const began = performance.now();
    const left = () => timeoutMs - (performance.now() - began);
    let touched = Number.NEGATIVE_INFINITY;
    for (;;) {
      if (performance.now() - touched >= this.#heartbeatMs) {
        touched = performance.now();
        this.#touch();
      }
      const queue = this.#log.read();
      if (isCalled(queue) && !signal.aborted) {
        const heard = await this.#receiveWithin(left(), signal);
        if (heard?.given) return heard;
      }
      if (left() <= 0 || signal.aborted) return this.#nothing();
      const rest = Math.max(1, Math.min(pollMs, left()));
      await delay(rest, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Records what the worker tells.
   * @throws HostError `invalid_input`, `unknown_task`, `already_done`,
   *   `state_locked`, `storage_full`, `storage_unwritable`
   */
  async emitEvent(input: EmitEvent): Promise<Emitted> {
    checkType(input);
    this.#touch();
    // Refused first, so that no file is written for nothing.
    eventOf(input, {}, this.#log.read());
    const payload = placed(input.payload, this.#folder);
    const emitted = await this.#log.change<Emitted>((queue) => {
      const event = eventOf(input, payload, queue);
      if (queue.isOver) throw agentOver(this.#folder.agentId, queue.status);
      const { isReady } = queue.state;
      const isKnown = event.type === 'ready' && isReady;
      const events = [
        ...(isReady ? arrival(queue) : []),
        ...(isKnown ? [] : [event])
      ];
      const seq = queue.state.eventSeq + events.length;
      const cancelRequested =
        event.done !== true && queue.running?.isCancelWanted === true;
      const told = isKnown ? { cancelRequested } : { seq, cancelRequested };
      return { events, told };
    });
    await this.#publish();
    return emitted;
  }

  /** Who holds the lock may be paused: nobody waits longer for that. */
  async #receiveWithin(
    milliseconds: number,
    signal: AbortSignal
  ): Promise<Heard | undefined> {
    const late = new AbortController();
    const either = AbortSignal.any([signal, late.signal]);
    const receiving = this.#receive(either);
    receiving.catch(() => undefined);
    const patience = Math.max(leastLockMs, milliseconds);
    const heard = await soon(receiving, patience, undefined);
    // What is not told any more is not given either.
    if (!heard) late.abort();
    return heard;
  }

  /** Everything that a call settles before it waits, and the next command. */
  async #receive(signal: AbortSignal): Promise<Heard> {
    const heard = await this.#log.change<Heard>((queue) => {
      const events = arrival(queue);
      const skipped = signal.aborted ? [] : canceledFirst(queue);
      const cursor = queue.state.commandSeq;
      const none = { given: undefined, cursor, cancelRequested: false };
      if (signal.aborted) return { events, told: none };
      // A program that has outlived its own end is to go.
      if (queue.isOver)
        return { events: [], told: { ...none, given: { type: 'stop' } } };
      const task = queue.tasks[skipped.length];
      events.push(...skipped);
      if (!task) {
        if (queue.state.stopAfter === null) return { events, told: none };
        if (queue.state.phase !== 'stopping')
          events.push({ type: 'stopping', by: 'troupe' });
        return { events, told: { ...none, given: { type: 'stop' } } };
      }
      const redelivered = task.deliveries > 0;
      if (!task.isRunning)
        events.push({ type: 'delivered', task_id: task.id, by: 'troupe' });
      const given: Given = { type: 'task', task, redelivered };
      const cancelRequested = task.isCancelWanted;
      return { events, told: { given, cursor, cancelRequested } };
    });
    // What was given must be told in time, whatever holds up the others.
    void this.#publish();
    return heard;
  }

  #nothing(): Heard {
    const queue = this.#log.read();
    return {
      given: undefined,
      cursor: queue.state.commandSeq,
      cancelRequested: queue.running?.isCancelWanted === true
    };
  }

  /** Others see by it that the worker lives. */
  #touch(): void {
    const { seen } = this.#folder;
    try {
      if (existsSync(seen)) touch(seen);
      else writeOver(seen, '');
    } catch (problem) {
      this.#onProblem(problem);
    }
  }

  /** The event is recorded: whoever publishes next can do this, too. */
  async #publish(): Promise<void> {
    const published = this.#broadcast
      .publish(this.#folder.agentId, this.#log)
      .catch(this.#onProblem);
    await soon(published, publishMs, undefined);
  }
}

/** Whether there is anything to be settled with this worker. */
function isCalled({ first, isOver, state }: TaskQueue): boolean {
  return (
    isOver ||
    first !== undefined ||
    state.stopAfter !== null ||
    state.phase === 'waiting' ||
    state.isStalled ||
    !state.isReady
  );
}

/** A first call says that the worker is there. */
function arrival({ state }: TaskQueue): NewEvent[] {
  const events: NewEvent[] = [];
  if (!state.isReady) events.push({ type: 'ready', by: 'troupe' });
  else if (state.phase === 'waiting')
    events.push({
      type: 'restarted',
      payload: { restarts: state.generation - 1 },
      by: 'troupe'
    });
  if (state.isStalled) events.push({ type: 'resumed', by: 'troupe' });
  return events;
}

/** Tasks at the front that were canceled before they were given to anybody. */
function canceledFirst({ tasks }: TaskQueue): NewEvent[] {
  const end = tasks.findIndex(
    ({ isCancelWanted, isRunning }) => !isCancelWanted || isRunning
  );
  const skipped = end < 0 ? tasks : tasks.slice(0, end);
  return skipped.map(({ id }) => canceled(id));
}
