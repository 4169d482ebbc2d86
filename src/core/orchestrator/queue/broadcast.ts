import { dirname, join } from 'node:path';
import { storageError } from '../../errors.ts';
import { appendLines, isTorn, repairLines } from '../../state/files/append.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { isCopied, updateCopy } from '../../state/files/file-copy.ts';
import { SeqLog } from '../../state/integrity/seq-log.ts';
import { FileLock, type LivenessCheck } from '../../state/locks/file-lock.ts';
import { LockQueue } from '../../state/locks/lock-queue.ts';
import { isBroadcast, parseBroadcast } from './records.ts';
import type { BroadcastPaths } from './worker-folder.ts';
import type { WorkerLog } from './worker-log.ts';

interface Source {
  agentId: string;
  log: WorkerLog;
}

/**
 * The milestones of all workers of a run, in one file. It is derived from
 * their outboxes: publishing a worker adds every event that is missing, so
 * the next call completes a publish that a killed process began.
 */
export class Broadcast {
  readonly log;
  /** An undefined source only repairs the file and its copy. */
  readonly #works: LockQueue<Source | undefined>;
  readonly #lock: FileLock;
  readonly #copy: string;
  /** Worker → number of its last published event. */
  readonly #published = new Map<string, number>();
  /** Worker → number of the last event read; most events are not published. */
  readonly #seen = new Map<string, number>();
  #read = 0;
  /** The error of the last update of the copy. */
  #problem: unknown;

  constructor(
    { log: path, copy, locks }: BroadcastPaths,
    processes: LivenessCheck
  ) {
    this.log = new SeqLog(path, parseBroadcast);
    this.#copy = copy;
    const lock = join(locks, 'broadcast.lock');
    this.#lock = new FileLock(lock, `${lock}.servers`, processes);
    this.#works = new LockQueue(
      this.#lock,
      () => ensureDirectory(locks),
      (works) => {
        const torn = join(locks, 'broadcast');
        if (isTorn(path)) repairLines(path, torn);
        this.#publish(
          works.flatMap((source) => source ?? []),
          torn
        );
        this.#updateCopy();
      }
    );
  }

  /** Publishes a worker's missing events; resolves when they are on disk. */
  publish(agentId: string, log: WorkerLog): Promise<void> {
    return this.#works.add({ agentId, log });
  }

  /** Moves aside a line that a killed process left incomplete. */
  async repair(): Promise<void> {
    if (isTorn(this.log.path)) await this.#works.add(undefined);
  }

  /**
   * Brings the copy in the workspace up to date.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`
   */
  async restore(): Promise<void> {
    if (this.log.size() === 0 || isCopied(this.log.path, this.#copy)) return;
    await this.#works.add(undefined);
    if (this.#problem) throw storageError(this.#problem, this.#copy);
  }

  /** Removes this process's identity file for the lock. */
  close(): void {
    this.#lock.close();
  }

  /** Never throws: the log is complete, and `restore` tries again. */
  #updateCopy(): void {
    this.#problem = undefined;
    if (this.log.size() === 0) return;
    try {
      ensureDirectory(dirname(this.#copy));
      updateCopy(this.log.path, this.#copy);
    } catch (problem) {
      this.#problem = problem;
    }
  }

  #publish(sources: Source[], torn: string): void {
    this.#catchUp();
    const lines: string[] = [];
    const seen = new Map<string, number>();
    const logs = new Map(sources.map(({ agentId, log }) => [agentId, log]));
    for (const [agentId, log] of logs) {
      const published = this.#published.get(agentId) ?? 0;
      let from = Math.max(published, this.#seen.get(agentId) ?? 0);
      for (let more = true; more; ) {
        const delta = log.outbox.since(from, { entries: 1000, chars: 1e6 });
        for (const event of delta.entries.filter(isBroadcast))
          lines.push(JSON.stringify({ agent_id: agentId, ...event }));
        from = delta.entries.at(-1)?.seq ?? from;
        more = delta.more;
      }
      seen.set(agentId, from);
    }
    appendLines(this.log.path, lines, torn);
    for (const [agentId, seq] of seen) this.#seen.set(agentId, seq);
    this.#catchUp();
  }

  #catchUp(): void {
    if (this.log.size() < this.#read) {
      this.#read = 0;
      this.#published.clear();
      this.#seen.clear();
    }
    this.#read = this.log.read(this.#read, (event) => {
      if (event) this.#published.set(event.agent_id, event.seq);
      return true;
    });
  }
}
