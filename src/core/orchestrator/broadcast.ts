import { dirname, join } from 'node:path';
import { appendLines, isTorn, repairLines } from '../state/append.ts';
import { ensureDirectory } from '../state/directories.ts';
import { FileLock, type Witnesses } from '../state/file-lock.ts';
import { LockQueue } from '../state/lock-queue.ts';
import { SeqLog } from '../state/seq-log.ts';
import { isBroadcast, parseBroadcast } from './records.ts';
import type { WorkerLog } from './worker-log.ts';

interface Source {
  agentId: string;
  log: WorkerLog;
}

/**
 * What all workers of a run are known to have come to, in one file. It is made
 * from their outboxes: whoever publishes one adds all that is missing of it,
 * so that what a killed process did not get to comes with the next.
 */
export class Broadcast {
  readonly log;
  /** Without a source there may be something to mend. */
  readonly #works: LockQueue<Source | undefined>;
  readonly #lock: FileLock;
  /** The highest number told of each worker. */
  readonly #told = new Map<string, number>();
  /** The highest number looked at: most events are not for all. */
  readonly #seen = new Map<string, number>();
  #read = 0;

  /** @param locks where the lock lies, and what was half-written */
  constructor(path: string, locks: string, witnesses: Witnesses) {
    this.log = new SeqLog(path, parseBroadcast);
    const lock = join(locks, 'broadcast.lock');
    this.#lock = new FileLock(lock, `${lock}.servers`, witnesses);
    this.#works = new LockQueue(
      this.#lock,
      () => {
        ensureDirectory(dirname(path));
        ensureDirectory(locks);
      },
      (works) => {
        const torn = join(locks, 'broadcast');
        if (isTorn(path)) repairLines(path, torn);
        this.#publish(
          works.flatMap((source) => source ?? []),
          torn
        );
      }
    );
  }

  /** Tells what is missing of a worker; returns when it is on the disk. */
  publish(agentId: string, log: WorkerLog): Promise<void> {
    return this.#works.add({ agentId, log });
  }

  /** Puts aside what a killed process left of a line. */
  async mend(): Promise<void> {
    if (isTorn(this.log.path)) await this.#works.add(undefined);
  }

  /** Takes away what says that this process is there. */
  close(): void {
    this.#lock.close();
  }

  #publish(sources: Source[], torn: string): void {
    this.#catchUp();
    const lines: string[] = [];
    const seen = new Map<string, number>();
    const logs = new Map(sources.map(({ agentId, log }) => [agentId, log]));
    for (const [agentId, log] of logs) {
      const told = this.#told.get(agentId) ?? 0;
      let from = Math.max(told, this.#seen.get(agentId) ?? 0);
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
      this.#told.clear();
      this.#seen.clear();
    }
    this.#read = this.log.read(this.#read, (event) => {
      if (event) this.#told.set(event.agent_id, event.seq);
      return true;
    });
  }
}
