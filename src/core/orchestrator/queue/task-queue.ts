import { z } from 'zod';
import { HostError } from '../../errors.ts';
import { lazy } from '../../lazy.ts';
import {
  type Command,
  terminalTypes,
  type WorkerEvent,
  type WorkerStatus
} from './records.ts';

const schemas = lazy(() => {
  const count = z.int().min(0);

  const task = z.object({
    id: z.string(),
    payload: z.unknown().optional(),
    payloadFile: z.string().optional(),
    /** How often it was delivered to the worker. */
    deliveries: count,
    /** True for at most one task. */
    isRunning: z.boolean(),
    isCancelWanted: z.boolean()
  });

  const state = z.strictObject({
    commandSeq: count,
    eventSeq: count,
    /** In order of arrival; the running one is the first. */
    tasks: z.array(task),
    /** Ids of all tasks that have ended, because no id is used twice. */
    ended: z.array(z.string()),
    /** `seq` of the command that asked the worker to stop. */
    stopAfter: count.nullable(),
    /** Whether the worker stops without finishing its tasks. */
    isForced: z.boolean(),
    isReady: z.boolean(),
    /** `waiting`: a program was started and has not asked for work yet. */
    phase: z.enum(['waiting', 'working', 'stopping', 'crashed', 'stopped']),
    isStalled: z.boolean(),
    /** The number of its current program, from 1. */
    generation: count,
    /** Consecutive programs that exited before they asked for work. */
    failedStarts: count,
    /** Programs that ended since the last end of a task. */
    fruitlessCrashes: count,
    /** The number of these that were not killed. */
    fruitlessExits: count
  });

  const snapshot = z.object({ inbox: count, outbox: count, state });

  return { task, state, snapshot };
});

type Schemas = ReturnType<typeof schemas>;

/** A task that has not ended. */
export type Task = z.output<Schemas['task']>;

/** The state that both logs of a worker reduce to, as plain data. */
export type WorkerState = z.output<Schemas['state']>;

/** A state, and how many bytes of each log it covers. */
export type Snapshot = z.output<Schemas['snapshot']>;

/** Undefined for a snapshot of another version, or a damaged one. */
export function parseSnapshot(text: string): Snapshot | undefined {
  try {
    return schemas().snapshot.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function emptyState(): WorkerState {
  return {
    commandSeq: 0,
    eventSeq: 0,
    tasks: [],
    ended: [],
    stopAfter: null,
    isForced: false,
    isReady: false,
    phase: 'waiting',
    isStalled: false,
    generation: 1,
    failedStarts: 0,
    fruitlessCrashes: 0,
    fruitlessExits: 0
  };
}

/**
 * The queue of one worker, reduced from its logs. Commands and events must be
 * applied in the order of their numbers.
 */
export class TaskQueue {
  readonly state: WorkerState;
  readonly #tasks = new Map<string, Task>();
  readonly #ended: Set<string>;

  constructor(state = emptyState()) {
    this.state = state;
    this.#ended = new Set(state.ended);
    for (const task of state.tasks) this.#tasks.set(task.id, task);
  }

  /** The state with its tasks, as it is stored. */
  snapshot(): WorkerState {
    return { ...this.state, tasks: this.tasks, ended: [...this.#ended] };
  }

  applyCommand(command: Command): void {
    // Numbers only increase: another one comes from a damaged log.
    if (command.seq <= this.state.commandSeq) return;
    this.state.commandSeq = command.seq;
    const { task_id: id } = command;
    if (command.type === 'stop') {
      this.state.stopAfter ??= command.seq;
      this.state.isForced ||= isSet(command.payload, 'force');
    }
    if (id === undefined) return;
    const known = this.#tasks.get(id);
    if (command.type === 'cancel' && known) known.isCancelWanted = true;
    if (command.type !== 'task' || known || this.#ended.has(id)) return;
    this.#tasks.set(id, {
      id,
      payload: command.payload,
      payloadFile: command.payload_file,
      deliveries: 0,
      isRunning: false,
      isCancelWanted: false
    });
  }

  applyEvent(event: WorkerEvent): void {
    const { state } = this;
    if (event.seq <= state.eventSeq) return;
    state.eventSeq = event.seq;
    const task = this.#tasks.get(event.task_id ?? '');
    if (event.by !== 'troupe') state.isStalled = false;
    if (task && event.done && terminalTypes.includes(event.type)) {
      state.fruitlessCrashes = 0;
      state.fruitlessExits = 0;
      this.#tasks.delete(task.id);
      this.#ended.add(task.id);
    }
    if (event.type === 'ready') this.#markReady();
    if (event.by === 'troupe') this.#applySystemEvent(event, task);
  }

  #applySystemEvent(event: WorkerEvent, task: Task | undefined): void {
    const { state } = this;
    switch (event.type) {
      case 'delivered':
        if (!task) return;
        task.isRunning = true;
        task.deliveries += 1;
        return;
      case 'requeued':
        if (task) task.isRunning = false;
        return;
      case 'restarted':
        this.#markReady();
        return;
      case 'crashed': {
        const isRestarting = isSet(event.payload, 'restarting');
        const isExit = !wasKilled(exitIn(event.payload));
        if (state.phase === 'waiting' && isExit) state.failedStarts += 1;
        if (isExit) state.fruitlessExits += 1;
        state.fruitlessCrashes += 1;
        state.phase = isRestarting ? 'waiting' : 'crashed';
        state.isStalled = false;
        if (isRestarting) state.generation += 1;
        return;
      }
      case 'stalled':
        state.isStalled = true;
        return;
      case 'resumed':
        state.isStalled = false;
        return;
      case 'stopping':
        if (!this.isOver) state.phase = 'stopping';
        return;
      case 'stopped':
        state.phase = 'stopped';
        state.isStalled = false;
    }
  }

  #markReady(): void {
    this.state.isReady = true;
    this.state.failedStarts = 0;
    if (this.state.phase === 'waiting') this.state.phase = 'working';
  }

  /** In order of arrival. */
  get tasks(): Task[] {
    return [...this.#tasks.values()];
  }

  /** The running task, or else the next one. */
  get first(): Task | undefined {
    const [task] = this.#tasks.values();
    return task;
  }

  get running(): Task | undefined {
    return this.first?.isRunning ? this.first : undefined;
  }

  task(id: string): Task | undefined {
    return this.#tasks.get(id);
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** The number of waiting tasks, without the running one. */
  get depth(): number {
    return this.#tasks.size - (this.running ? 1 : 0);
  }

  get isOver(): boolean {
    return this.state.phase === 'crashed' || this.state.phase === 'stopped';
  }

  get status(): WorkerStatus {
    const { phase, isStalled } = this.state;
    if (phase === 'crashed' || phase === 'stopped') return phase;
    if (phase === 'waiting') return 'starting';
    if (isStalled) return 'stalled';
    return this.running ? 'busy' : 'ready';
  }
}

/** How a program ended, as far as that is known. */
export interface Exit {
  exitCode?: number | undefined;
  /** Why troupe ended the program, if it did. */
  reason?: string;
}

/** SIGHUP, SIGINT, SIGKILL and SIGTERM, which come from other programs. */
const outsideSignals = [1, 2, 9, 15];

/** Whether a program was killed from outside, and so may be free of faults. */
export function wasKilled({ exitCode, reason }: Exit): boolean {
  return (
    reason === undefined &&
    (exitCode === undefined || outsideSignals.includes(exitCode - 128))
  );
}

function exitIn(payload: unknown): Exit {
  const facts: { exit_code?: unknown; reason?: unknown } = Object(payload);
  const { exit_code: code, reason } = facts;
  return {
    exitCode: typeof code === 'number' ? code : undefined,
    ...(typeof reason === 'string' ? { reason } : {})
  };
}

function isSet(payload: unknown, name: string): boolean {
  return (
    typeof payload === 'object' &&
    payload !== null &&
    Reflect.get(payload, name) === true
  );
}

export function agentOver(agentId: string, state: string): HostError {
  return new HostError(
    'agent_over',
    `Worker ${agentId} is ${state} and takes no tasks.`,
    'Nothing was recorded. The task needs another worker.'
  );
}

export function unknownTask(taskId: string): HostError {
  return new HostError(
    'unknown_task',
    `This worker has no task ${taskId}.`,
    'Give a task_id that was returned for the task; the events of the worker show all.'
  );
}

export function alreadyDone(taskId: string): HostError {
  return new HostError(
    'already_done',
    `Task ${taskId} has ended already.`,
    'Nothing was recorded; its end is in the events.'
  );
}
