import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HostError, storageError } from '../../errors.ts';
import { appendLines, isTorn, repairLines } from '../../state/files/append.ts';
import { readIfExists, replaceFile } from '../../state/files/atomic-file.ts';
import { SeqLog } from '../../state/integrity/seq-log.ts';
import { FileLock, type LivenessCheck } from '../../state/locks/file-lock.ts';
import { LockQueue } from '../../state/locks/lock-queue.ts';
import { withTimeout } from '../../timing.ts';
import {
  type NewCommand,
  type NewEvent,
  parseCommand,
  parseEvent
} from './records.ts';
import { parseSnapshot, type Snapshot, TaskQueue } from './task-queue.ts';
import {
  isViewComplete,
  restoreView,
  type WorkerFolder
} from './worker-folder.ts';

/** A new snapshot is stored after this many lines, to shorten later reads. */
const snapshotLines = 2000;
/** The longest wait for the copies of what a reader has seen. */
const copiedMs = 250;

/** The lines that a change adds to the logs, and the result for its caller. */
export interface Change<Result> {
  commands?: NewCommand[];
  events?: NewEvent[];
  result: Result;
}

type Work = (writer: LogWriter) => void;

/**
 * The inbox and outbox of one worker, the source of truth about it. Any number
 * of processes read them; a lock admits one writer at a time.
 */
export class WorkerLog {
  readonly inbox;
  readonly outbox;
  readonly #folder: WorkerFolder;
  readonly #lock: FileLock;
  readonly #works: LockQueue<Work>;
  #queue: TaskQueue | undefined;
  #read = { inbox: 0, outbox: 0 };
  #linesSinceSnapshot = 0;
  #stamp = '';
  #isRepaired = false;

  constructor(folder: WorkerFolder, processes: LivenessCheck) {
    this.#folder = folder;
    this.inbox = new SeqLog(folder.inbox, parseCommand);
    this.outbox = new SeqLog(folder.outbox, parseEvent);
    this.#lock = new FileLock(folder.lock, `${folder.lock}.servers`, processes);
    this.#works = new LockQueue(
      this.#lock,
      () => this.#checkFolder(),
      (works) => this.#perform(works)
    );
  }

  /** The current state. Takes no lock; callers share the returned queue. */
  read(): TaskQueue {
    const stamp = this.stamp();
    if (this.#queue && stamp === this.#stamp) return this.#queue;
    if (this.#isTruncated()) this.#forget();
    const queue = this.#queue ?? this.#restored();
    this.#queue = queue;
    this.#follow(queue);
    this.#stamp = stamp;
    return queue;
  }

  /** Changes with every change of one of the logs. */
  stamp(): string {
    return `${this.inbox.stamp()} ${this.outbox.stamp()}`;
  }

  /**
   * Changes the logs. `work` gets the newest state under the lock; it may run
   * long after the call and must be synchronous. An error that it throws
   * rejects this call, and nothing is written.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`
   */
  change<Result>(work: (queue: TaskQueue) => Change<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) =>
        reject(
          storageError(error, this.#folder.private, {
            full: 'Nothing was recorded. Free some space and call again.',
            unwritable:
              'Nothing was recorded. Check owner and permissions of .agents/ in the workspace and of ~/.troupe, and call again.'
          })
        );
      let change: Change<Result> | undefined;
      const one: Work = (writer) => {
        try {
          const made = work(writer.queue);
          writer.add(made);
          change = made;
        } catch (error) {
          failed(error);
        }
      };
      this.#works.add(one).then(() => change && resolve(change.result), failed);
    });
  }

  /** Moves aside a line that a killed process left incomplete. */
  async repair(): Promise<void> {
    if (isTorn(this.inbox.path) || isTorn(this.outbox.path))
      await this.change(() => ({ result: undefined }));
  }

  /**
   * Brings the copies in the workspace up to date.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`
   */
  async restore(): Promise<void> {
    if (isViewComplete(this.#folder)) return;
    let problem: unknown;
    await this.change(() => {
      try {
        restoreView(this.#folder);
      } catch (error) {
        problem = error;
      }
      return { result: undefined };
    });
    if (problem) throw storageError(problem, this.#folder.public);
  }

  /**
   * Waits, briefly, until the copies show what was read: their writer appends
   * to the log first. Never throws; the reconciler reports what fails.
   */
  async copied(): Promise<void> {
    const restored = this.restore().catch(() => undefined);
    await withTimeout(restored, copiedMs, undefined);
  }

  /** Removes this process's identity file for the lock. */
  close(): void {
    this.#lock.close();
  }

  #perform(works: Work[]): void {
    this.#repairOnce();
    const queue = this.read();
    const writer = new LogWriter(queue);
    try {
      for (const work of works) work(writer);
      const { commands, events } = writer;
      if (commands.length + events.length === 0) return;
      this.#lock.checkHeld();
      // Commands first: an event may answer one of them.
      const undo = this.#append('inbox', commands);
      try {
        this.#append('outbox', events);
      } catch (error) {
        undo();
        throw error;
      }
    } catch (error) {
      // The queue may hold lines that are not on disk.
      this.#forget();
      throw error;
    }
    this.read();
    this.#storeSnapshot(queue);
    try {
      restoreView(this.#folder);
    } catch {
      // The record is complete, and `restore` reports the problem.
    }
  }

  /** Never recreates a removed log, which would lack its first lines. */
  #append(name: 'inbox' | 'outbox', lines: string[]): () => void {
    return appendLines(this[name].path, lines, this.#torn(name), false);
  }

  #follow(queue: TaskQueue): void {
    const { inbox, outbox } = this.#read;
    // The inbox first: the events of a task come after it.
    this.#read.inbox = this.inbox.read(inbox, (command) => {
      if (command) queue.applyCommand(command);
      this.#linesSinceSnapshot += 1;
      return true;
    });
    this.#read.outbox = this.outbox.read(outbox, (event) => {
      if (event) queue.applyEvent(event);
      this.#linesSinceSnapshot += 1;
      return true;
    });
  }

  /** Whether a log is shorter than before, so that the queue is outdated. */
  #isTruncated(): boolean {
    const { inbox, outbox } = this.#read;
    return this.inbox.size() < inbox || this.outbox.size() < outbox;
  }

  #forget(): void {
    this.#queue = undefined;
    this.#stamp = '';
    this.#read = { inbox: 0, outbox: 0 };
  }

  #restored(): TaskQueue {
    const snapshot = this.#storedSnapshot();
    this.#read = {
      inbox: snapshot?.inbox ?? 0,
      outbox: snapshot?.outbox ?? 0
    };
    return new TaskQueue(snapshot?.state);
  }

  /** Undefined without a valid snapshot: then all lines are read. */
  #storedSnapshot(): Snapshot | undefined {
    const text = readIfExists(this.#folder.state);
    const snapshot = text === undefined ? undefined : parseSnapshot(text);
    if (!snapshot) return undefined;
    const fits =
      snapshot.inbox <= this.inbox.size() &&
      snapshot.outbox <= this.outbox.size();
    return fits ? snapshot : undefined;
  }

  #storeSnapshot(queue: TaskQueue): void {
    if (this.#linesSinceSnapshot < snapshotLines && !queue.isOver) return;
    this.#linesSinceSnapshot = 0;
    const snapshot: Snapshot = { ...this.#read, state: queue.snapshot() };
    try {
      replaceFile(this.#folder.state, JSON.stringify(snapshot));
    } catch {
      // Without the snapshot, the first read of a process takes longer.
    }
  }

  /** Moves aside the lines that killed processes left incomplete. */
  #repairOnce(): void {
    if (this.#isRepaired) return;
    for (const name of ['inbox', 'outbox'] as const)
      if (existsSync(this[name].path))
        repairLines(this[name].path, this.#torn(name));
    this.#isRepaired = true;
  }

  #torn(name: string): string {
    return join(this.#folder.private, name);
  }

  #checkFolder(): void {
    const { meta, inbox, outbox, agentId } = this.#folder;
    if ([meta, inbox, outbox].every((path) => existsSync(path))) return;
    throw new HostError(
      'unknown_agent',
      `The record of worker ${agentId} was removed.`,
      'The list of workers shows all.'
    );
  }
}

/** Numbers the lines of several changes, and applies each to the queue. */
class LogWriter {
  readonly queue: TaskQueue;
  readonly commands: string[] = [];
  readonly events: string[] = [];

  constructor(queue: TaskQueue) {
    this.queue = queue;
  }

  add({ commands = [], events = [] }: Change<unknown>): void {
    const at = new Date().toISOString();
    for (const command of commands) {
      const line = { seq: this.queue.state.commandSeq + 1, at, ...command };
      this.queue.applyCommand(line);
      this.commands.push(JSON.stringify(line));
    }
    for (const event of events) {
      const line = { seq: this.queue.state.eventSeq + 1, at, ...event };
      this.queue.applyEvent(line);
      this.events.push(JSON.stringify(line));
    }
  }
}
