import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { HostError } from '../../errors.ts';
import { overwriteStart, touch } from '../../state/files/own-file.ts';
import { withTimeout } from '../../timing.ts';
import type { Broadcast } from './broadcast.ts';
import { canceled } from './exit-policy.ts';
import { storePayload } from './payload.ts';
import { type NewEvent, ownTypes, terminalTypes } from './records.ts';
import {
  agentOver,
  alreadyDone,
  type Task,
  type TaskQueue,
  unknownTask
} from './task-queue.ts';
import type { WorkerFolder } from './worker-folder.ts';
import type { WorkerLog } from './worker-log.ts';

interface WaitForCommand {
  timeoutMs: number;
  /** Once it is aborted, nothing is delivered. */
  signal: AbortSignal;
}

/** The next command for a worker. */
interface Delivery {
  type: 'task' | 'stop';
  task?: Task;
  /** Whether the task was delivered before. */
  redelivered?: boolean;
}

export interface CommandResult {
  given: Delivery | undefined;
  /** The number of the last command in the inbox. */
  cursor: number;
  cancelRequested: boolean;
}

export interface EmitEvent {
  type: string;
  taskId?: string | undefined;
  payload?: unknown;
  done?: boolean | undefined;
}

interface Emitted {
  /** Absent for an event that was already recorded. */
  seq?: number;
  cancelRequested: boolean;
}

/** Each poll costs two system calls. */
const pollMs = 40;
/** The least wait for the lock, even if the caller's time is up. */
const leastLockMs = 150;
/** The longest wait for a publish; the next process that publishes retries. */
const publishMs = 1000;

interface MailboxParts {
  folder: WorkerFolder;
  log: WorkerLog;
  broadcast: Broadcast;
  /** The interval at which a waiting call shows that the worker lives. */
  heartbeatSeconds: number;
  onProblem: (problem: unknown) => void;
}

/** One worker's mailbox, in the server that the worker calls. */
export class WorkerMailbox {
  readonly #with: MailboxParts;

  constructor(parts: MailboxParts) {
    this.#with = parts;
  }

  /**
   * Waits for the next command, up to the timeout. A task that has not ended
   * is delivered again, so a lost answer loses no task.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`
   */
  async waitForCommand({
    timeoutMs,
    signal
  }: WaitForCommand): Promise<CommandResult> {
    const heartbeatMs = 1000 * this.#with.heartbeatSeconds;
    const began = performance.now();
    const left = () => timeoutMs - (performance.now() - began);
    let touched = Number.NEGATIVE_INFINITY;
    for (;;) {
      if (performance.now() - touched >= heartbeatMs) {
        touched = performance.now();
        this.#touch();
      }
      const queue = this.#with.log.read();
      if (hasWork(queue) && !signal.aborted) {
        const received = await this.#receiveWithin(left(), signal);
        if (received?.given) return received;
      }
      if (left() <= 0 || signal.aborted) return this.#emptyResult();
      const rest = Math.max(1, Math.min(pollMs, left()));
      await delay(rest, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Records an event of the worker.
   * @throws HostError `invalid_input`, `unknown_task`, `already_done`,
   *   `agent_over`, `state_locked`, `storage_full`, `storage_unwritable`
   */
  async emitEvent(input: EmitEvent): Promise<Emitted> {
    checkType(input);
    this.#touch();
    // Checked before the payload is stored: a refused call writes no file.
    eventOf(input, {}, this.#with.log.read());
    const payload = storePayload(input.payload, this.#with.folder);
    const emitted = await this.#with.log.change<Emitted>((queue) => {
      const event = eventOf(input, payload, queue);
      if (queue.isOver)
        throw agentOver(this.#with.folder.agentId, queue.status);
      const { isReady } = queue.state;
      const isKnown = event.type === 'ready' && isReady;
      const events = [
        ...(isReady ? impliedEvents(queue) : []),
        ...(isKnown ? [] : [event])
      ];
      const seq = queue.state.eventSeq + events.length;
      const cancelRequested =
        event.done !== true && queue.running?.isCancelWanted === true;
      const result = isKnown ? { cancelRequested } : { seq, cancelRequested };
      return { events, result };
    });
    await this.#publish();
    return emitted;
  }

  /** Undefined if another process holds the lock for too long. */
  async #receiveWithin(
    milliseconds: number,
    signal: AbortSignal
  ): Promise<CommandResult | undefined> {
    const late = new AbortController();
    const either = AbortSignal.any([signal, late.signal]);
    const receiving = this.#receive(either);
    receiving.catch(() => undefined);
    const limitMs = Math.max(leastLockMs, milliseconds);
    const received = await withTimeout(receiving, limitMs, undefined);
    // The caller gets no answer, so nothing may be delivered.
    if (!received) late.abort();
    return received;
  }

  /** Records the events that are due, and takes the next command. */
  async #receive(signal: AbortSignal): Promise<CommandResult> {
    const received = await this.#with.log.change<CommandResult>((queue) => {
      const events = impliedEvents(queue);
      const skipped = signal.aborted ? [] : canceledFirst(queue);
      const cursor = queue.state.commandSeq;
      const none = { given: undefined, cursor, cancelRequested: false };
      if (signal.aborted) return { events, result: none };
      // A program that outlives the end of its worker must stop.
      if (queue.isOver)
        return { events: [], result: { ...none, given: { type: 'stop' } } };
      const task = queue.tasks[skipped.length];
      events.push(...skipped);
      if (!task) {
        if (queue.state.stopAfter === null) return { events, result: none };
        if (queue.state.phase !== 'stopping')
          events.push({ type: 'stopping', by: 'troupe' });
        return { events, result: { ...none, given: { type: 'stop' } } };
      }
      const redelivered = task.deliveries > 0;
      if (!task.isRunning)
        events.push({ type: 'delivered', task_id: task.id, by: 'troupe' });
      const delivery: Delivery = { type: 'task', task, redelivered };
      const cancelRequested = task.isCancelWanted;
      return { events, result: { given: delivery, cursor, cancelRequested } };
    });
    // Not awaited: the answer must reach the worker in time.
    void this.#publish();
    return received;
  }

  #emptyResult(): CommandResult {
    const queue = this.#with.log.read();
    return {
      given: undefined,
      cursor: queue.state.commandSeq,
      cancelRequested: queue.running?.isCancelWanted === true
    };
  }

  /** Renews the sign of life that other processes check. Never throws. */
  #touch(): void {
    const { seen } = this.#with.folder;
    try {
      if (existsSync(seen)) touch(seen);
      else overwriteStart(seen, '');
    } catch (problem) {
      this.#with.onProblem(problem);
    }
  }

  /** Never throws. Waits only briefly, because the event is recorded. */
  async #publish(): Promise<void> {
    const published = this.#with.broadcast
      .publish(this.#with.folder.agentId, this.#with.log)
      .catch(this.#with.onProblem);
    await withTimeout(published, publishMs, undefined);
  }
}

/** Whether a call of the worker has anything to record or to deliver. */
function hasWork({ first, isOver, state }: TaskQueue): boolean {
  return (
    isOver ||
    first !== undefined ||
    state.stopAfter !== null ||
    state.phase === 'waiting' ||
    state.isStalled ||
    !state.isReady
  );
}

/** The events that any call of the worker implies. */
function impliedEvents({ state }: TaskQueue): NewEvent[] {
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

/** The events for first tasks that were canceled before their delivery. */
function canceledFirst({ tasks }: TaskQueue): NewEvent[] {
  const end = tasks.findIndex(
    ({ isCancelWanted, isRunning }) => !isCancelWanted || isRunning
  );
  const skipped = end < 0 ? tasks : tasks.slice(0, end);
  return skipped.map(({ id }) => canceled(id));
}

/** @throws HostError `invalid_input` if `type` or `done` is not allowed */
export function checkType({ type, done }: EmitEvent): void {
  const isTerminal = terminalTypes.includes(type);
  if (ownTypes.includes(type))
    throw new HostError(
      'invalid_input',
      `"${type}" events are written by troupe itself.`,
      'Use another type: ack, progress, heartbeat, or result, error, canceled to end a task.'
    );
  if (done === true && !isTerminal)
    throw new HostError(
      'invalid_input',
      `An event "${type}" ends no task, so it cannot be done.`,
      'Leave done out, or end the task with type result, error or canceled.'
    );
  if (done === false && isTerminal)
    throw new HostError(
      'invalid_input',
      `An event "${type}" ends its task, so done cannot be false.`,
      'Leave done out, or use type progress while the task goes on.'
    );
}

/**
 * The event to record for a worker's call.
 * @throws HostError `invalid_input`, `unknown_task`, `already_done`
 */
export function eventOf(
  { type, taskId }: EmitEvent,
  payload: object,
  queue: TaskQueue
): NewEvent {
  const isTerminal = terminalTypes.includes(type);
  const id = taskId ?? queue.running?.id;
  if (taskId !== undefined) checkTask(taskId, queue, isTerminal);
  if (!isTerminal)
    return { type, ...(id === undefined ? {} : { task_id: id }), ...payload };
  if (id === undefined)
    throw new HostError(
      'invalid_input',
      `An event "${type}" ends a task, and none is running.`,
      'Wait for the next command, which brings the next task.'
    );
  return { type, task_id: id, ...payload, done: true };
}

function checkTask(id: string, queue: TaskQueue, isTerminal: boolean): void {
  if (queue.hasEnded(id)) {
    if (!isTerminal) return;
    throw alreadyDone(id);
  }
  const task = queue.task(id);
  if (!task) throw unknownTask(id);
  if (isTerminal && !task.isRunning)
    throw new HostError(
      'invalid_input',
      `Task ${id} waits in the queue and cannot end before it was given to you.`,
      'Wait for the next command: tasks are given in their order.'
    );
}
