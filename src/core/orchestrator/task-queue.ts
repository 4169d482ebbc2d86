import {
  type Command,
  terminalTypes,
  type WorkerEvent,
  type WorkerStatus
} from './records.ts';
import { type EndFacts, wasKilled } from './worker-end.ts';

/** A task that has not ended. */
export interface Task {
  id: string;
  payload?: unknown;
  payloadFile?: string | undefined;
  /** How often it was given to a worker. */
  deliveries: number;
  /** It is the one that the worker has. */
  isRunning: boolean;
  isCancelWanted: boolean;
}

/** All that the logs of a worker say, as plain data. */
export interface WorkerState {
  commandSeq: number;
  eventSeq: number;
  /** In the order of their coming; the running one is the first. */
  tasks: Task[];
  /** Every task there ever was that has ended: no id is used again. */
  ended: string[];
  /** When it was asked to stop: after which command. */
  stopAfter: number | null;
  /** Without waiting for its tasks. */
  isForced: boolean;
  isReady: boolean;
  /** `waiting`: a program was started and has not asked for work yet. */
  phase: 'waiting' | 'working' | 'stopping' | 'crashed' | 'stopped';
  isStalled: boolean;
  /** Counts its programs, from 1. */
  generation: number;
  /** Programs in a row that never asked for work. */
  failedStarts: number;
  /** Programs that ended since a task did. */
  fruitlessCrashes: number;
  /** Those of them that nobody killed. */
  fruitlessExits: number;
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
 * The queue of one worker, read out of its logs: commands and events only
 * have to be told in their order, whoever wrote them.
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

  /** The state with its tasks, to be written down. */
  snapshot(): WorkerState {
    return {
      ...this.state,
      tasks: [...this.#tasks.values()],
      ended: [...this.#ended]
    };
  }

  apply(command: Command): void {
    // Something else wrote there: numbers only grow.
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

  happened(event: WorkerEvent): void {
    const { state } = this;
    if (event.seq <= state.eventSeq) return;
    state.eventSeq = event.seq;
    const task = this.#tasks.get(event.task_id ?? '');
    if (event.by !== 'troupe') state.isStalled = false;
    if (task && event.done && terminalTypes.includes(event.type)) {
      this.state.fruitlessCrashes = 0;
      this.state.fruitlessExits = 0;
      this.#tasks.delete(task.id);
      this.#ended.add(task.id);
    }
    if (event.type === 'ready') this.#isThere();
    if (event.by === 'troupe') this.#befell(event, task);
  }

  #befell(event: WorkerEvent, task: Task | undefined): void {
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
        this.#isThere();
        return;
      case 'crashed': {
        const again = isSet(event.payload, 'restarting');
        const isExit = !wasKilled(factsIn(event.payload));
        if (state.phase === 'waiting' && isExit) state.failedStarts += 1;
        if (isExit) state.fruitlessExits += 1;
        state.fruitlessCrashes += 1;
        state.phase = again ? 'waiting' : 'crashed';
        state.isStalled = false;
        if (again) state.generation += 1;
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

  #isThere(): void {
    this.state.isReady = true;
    this.state.failedStarts = 0;
    if (this.state.phase === 'waiting') this.state.phase = 'working';
  }

  /** In the order of their coming. */
  get tasks(): Task[] {
    return [...this.#tasks.values()];
  }

  /** The running one, else the next. */
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

  /** Without the running one. */
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

function factsIn(payload: unknown): Pick<EndFacts, 'exitCode' | 'reason'> {
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
