import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HostError, storageError } from '../errors.ts';
import { appendLines, isTorn, repairLines } from '../state/append.ts';
import { readIfThere, replaceFile } from '../state/atomic-file.ts';
import { FileLock, type Witnesses } from '../state/file-lock.ts';
import { LockQueue } from '../state/lock-queue.ts';
import { SeqLog } from '../state/seq-log.ts';
import { type Kept, parseKept } from './kept-state.ts';
import { type Change, LogWriter } from './log-writer.ts';
import { parseCommand, parseEvent } from './records.ts';
import { TaskQueue } from './task-queue.ts';
import type { WorkerFolder } from './worker-folder.ts';

/** So many lines are read again at most when a process begins to look. */
const keepEvery = 2000;

type Work = (log: LogWriter) => void;

/**
 * The inbox and outbox of one worker: the truth about it, which any number of
 * processes read, and change one at a time.
 */
export class WorkerLog {
  readonly inbox;
  readonly outbox;
  readonly #folder: WorkerFolder;
  readonly #lock: FileLock;
  readonly #works: LockQueue<Work>;
  #queue: TaskQueue | undefined;
  #read = { inbox: 0, outbox: 0 };
  #unkept = 0;
  #stamp = '';
  #isRepaired = false;

  constructor(folder: WorkerFolder, witnesses: Witnesses) {
    this.#folder = folder;
    this.inbox = new SeqLog(folder.inbox, parseCommand);
    this.outbox = new SeqLog(folder.outbox, parseEvent);
    this.#lock = new FileLock(folder.lock, `${folder.lock}.servers`, witnesses);
    this.#works = new LockQueue(
      this.#lock,
      () => this.#checkFolder(),
      (works) => this.#perform(works)
    );
  }

  /** How it stands. Takes no lock; belongs to the next reader, too. */
  read(): TaskQueue {
    const stamp = this.stamp();
    if (this.#queue && stamp === this.#stamp) return this.#queue;
    if (this.#isCut()) this.#forget();
    const queue = this.#queue ?? this.#restored();
    this.#queue = queue;
    this.#follow(queue);
    this.#stamp = stamp;
    return queue;
  }

  /** Changes whenever one of its logs does. */
  stamp(): string {
    return `${this.inbox.stamp()} ${this.outbox.stamp()}`;
  }

  /**
   * Changes the logs. `work` is told the newest state under the lock, may run
   * long after the call, and must not wait. What it throws goes to the caller,
   * and nothing is written.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`
   */
  change<Told>(work: (queue: TaskQueue) => Change<Told>): Promise<Told> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) =>
        reject(
          storageError(error, this.#folder.public, {
            full: 'Nothing was recorded. Free some space and call again.',
            unwritable:
              'Nothing was recorded. Check owner and permissions of .agents/ in the workspace and of ~/.troupe, and call again.'
          })
        );
      let told: { value: Told } | undefined;
      const one: Work = (writer) => {
        try {
          const change = work(writer.queue);
          writer.add(change);
          told = { value: change.told };
        } catch (error) {
          failed(error);
        }
      };
      this.#works.add(one).then(() => told && resolve(told.value), failed);
    });
  }

  /** Puts aside what a killed process left of a line. */
  async mend(): Promise<void> {
    if (isTorn(this.inbox.path) || isTorn(this.outbox.path))
      await this.change(() => ({ told: undefined }));
  }

  /** Takes away what says that this process is there. */
  close(): void {
    this.#lock.close();
  }

  #perform(works: Work[]): void {
    this.#repair();
    const queue = this.read();
    const writer = new LogWriter(queue);
    try {
      for (const work of works) work(writer);
      const { commands, events } = writer;
      if (commands.length + events.length === 0) return;
      this.#lock.checkHeld();
      // The command first: an event may be the answer to it.
      const undo = appendLines(this.inbox.path, commands, this.#torn('inbox'));
      try {
        appendLines(this.outbox.path, events, this.#torn('outbox'));
      } catch (error) {
        undo();
        throw error;
      }
    } catch (error) {
      // What was added in memory may not be on the disk: read anew.
      this.#forget();
      throw error;
    }
    this.read();
    this.#keep(queue);
  }

  #follow(queue: TaskQueue): void {
    const { inbox, outbox } = this.#read;
    // The inbox first: what happened to a task comes after it.
    this.#read.inbox = this.inbox.read(inbox, (command) => {
      if (command) queue.apply(command);
      this.#unkept += 1;
      return true;
    });
    this.#read.outbox = this.outbox.read(outbox, (event) => {
      if (event) queue.happened(event);
      this.#unkept += 1;
      return true;
    });
  }

  /** Somebody has made them shorter: what is known is of no use. */
  #isCut(): boolean {
    const { inbox, outbox } = this.#read;
    return this.inbox.size() < inbox || this.outbox.size() < outbox;
  }

  #forget(): void {
    this.#queue = undefined;
    this.#stamp = '';
    this.#read = { inbox: 0, outbox: 0 };
  }

  #restored(): TaskQueue {
    const kept = this.#kept();
    this.#read = { inbox: kept?.inbox ?? 0, outbox: kept?.outbox ?? 0 };
    return new TaskQueue(kept?.state);
  }

  /** It is only ever a short cut: a doubtful one is not taken. */
  #kept(): Kept | undefined {
    const text = readIfThere(this.#folder.state);
    const kept = text === undefined ? undefined : parseKept(text);
    if (!kept) return undefined;
    const fits =
      kept.inbox <= this.inbox.size() && kept.outbox <= this.outbox.size();
    return fits ? kept : undefined;
  }

  #keep(queue: TaskQueue): void {
    if (this.#unkept < keepEvery && !queue.isOver) return;
    this.#unkept = 0;
    const kept: Kept = { ...this.#read, state: queue.snapshot() };
    try {
      replaceFile(this.#folder.state, JSON.stringify(kept));
    } catch {
      // Then more is read the next time.
    }
  }

  /** What killed processes left half-written, once. */
  #repair(): void {
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
    if (statSync(this.#folder.public, { throwIfNoEntry: false })) return;
    throw new HostError(
      'unknown_agent',
      `The folder of agent ${this.#folder.agentId} is gone.`,
      'Somebody removed it; agent_list shows which there are.'
    );
  }
}
