import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoOf, HostError } from '../../errors.ts';
import type { Processes } from '../../runs/ports.ts';
import {
  createWithoutSync,
  remove,
  removeLeftovers
} from '../files/atomic-file.ts';
import { ensureDirectory } from '../files/directories.ts';
import {
  type Found,
  findHolder,
  type Holder,
  isLeftOver,
  lockedByForeigner,
  lockedByMany,
  lockedByOne
} from './lock-holder.ts';

export type LivenessCheck = Pick<Processes, 'self' | 'liveness'>;

/** A waiting caller gets an error when a single hold lasts longer. */
const holdTimeoutMs = 10_000;
/** A waiting caller gets an error after this time, even if holders change. */
const totalTimeoutMs = 45_000;
/** After a wait of this time, the liveness of the holder is checked. */
const livenessCheckMs = 20;

/**
 * A lock between processes, meant to be held for milliseconds. The lock file is
 * a hard link to a file that identifies its holder, so it is created atomically
 * and with one system call. It does not expire: only a dead holder loses it,
 * never a slow or paused one, or one on another machine. The age matters only
 * for the lock of a foreign program, which need not identify its holder.
 *
 * When two processes find a dead holder, only one may remove the lock, because
 * the second would remove the lock of the next holder. A process must therefore
 * claim the removal. The claim is a file that is created exclusively and named
 * after the dead holder's nonce, or after the inode and change time of a
 * foreign lock. These names are never reused: a process that owns the claim and
 * still finds the same name in the lock may remove the lock. The claim of a
 * dead process is taken over in the same way.
 *
 * An instance supports only one call of `hold` at a time.
 */
export class FileLock {
  readonly path: string;
  /** The number of takeovers; a dead holder may have left work unfinished. */
  takeovers = 0;
  readonly #directory: string;
  readonly #processes: LivenessCheck;
  #ownNonce: string | undefined;
  /** The file that identifies this process; undefined until it is written. */
  #identityFile: string | undefined;

  /** @param directory holds the identity files and the claims */
  constructor(path: string, directory: string, processes: LivenessCheck) {
    this.path = path;
    this.#directory = directory;
    this.#processes = processes;
  }

  /**
   * Runs synchronous work under the lock.
   * @throws HostError `state_locked` when one holder keeps the lock for 10 s,
   *   or several holders for 45 s
   */
  hold<Result>(work: () => Result): Promise<Result> {
    return this.holdWhile(async () => work());
  }

  /** Like `hold`, for asynchronous work; other processes wait at most 10 s. */
  async holdWhile<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#acquire();
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  /**
   * Call this before each write under the lock.
   * @throws HostError `state_locked` when the lock was removed by hand
   */
  checkHeld(): void {
    if (this.isHeld()) return;
    throw new HostError(
      'state_locked',
      `${this.path} was removed while it was in use.`,
      'Nothing was recorded. Call again, and do not remove that file.'
    );
  }

  /** Whether this process holds the lock; false if it was removed by hand. */
  isHeld(): boolean {
    return findHolder(this.path)?.holder?.nonce === this.#nonce;
  }

  /** Removes the identity file of this process, and files of dead processes. */
  close(): void {
    if (this.#identityFile === undefined) return;
    remove(this.#identityFile);
    this.#identityFile = undefined;
    this.#sweep();
  }

  /** Generated at first use, because random bytes slow down a start. */
  get #nonce(): string {
    this.#ownNonce ??= randomBytes(8).toString('hex');
    return this.#ownNonce;
  }

  async #acquire(): Promise<void> {
    const isFirst = this.#identityFile === undefined;
    const began = performance.now();
    let since = began;
    let checked = began;
    let acquisition = '';
    while (!this.#linkTo(this.path)) {
      const found = findHolder(this.path);
      if (!found) {
        await delay(1);
        continue;
      }
      // An earlier release failed to remove the lock.
      if (found.holder?.nonce === this.#nonce) break;
      const now = performance.now();
      if (found.acquisition !== acquisition) {
        acquisition = found.acquisition;
        since = now;
        checked = now;
      }
      if (now - checked >= livenessCheckMs) {
        checked = now + 10 * livenessCheckMs;
        if (this.#isAbandoned(found) && this.#removeLock(found.name)) continue;
      }
      if (now - since > holdTimeoutMs || now - began > totalTimeoutMs)
        throw this.#locked(found, now - since);
      await delay(1 + Math.random() * Math.min(20, 2 + (now - began) / 10));
    }
    if (isFirst) this.#sweep();
  }

  #release(): void {
    try {
      if (this.isHeld()) remove(this.path);
    } catch {
      // The work is done, and the next `hold` finds this process's nonce.
    }
  }

  /** Creates a link to the identity file; false when the path exists. */
  #linkTo(path: string): boolean {
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#identityFile ??= this.#writeIdentity();
        linkSync(this.#identityFile, path);
        return true;
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return false;
        // The identity file, or its temporary file, was removed.
        if (errnoOf(error) !== 'ENOENT' || attempt > 2) throw error;
        this.#identityFile = undefined;
      }
    }
  }

  #writeIdentity(): string {
    ensureDirectory(this.#directory);
    const { self } = this.#processes;
    const path = join(this.#directory, `${self.pid}.${this.#nonce}`);
    createWithoutSync(
      path,
      `${JSON.stringify({ ...self, nonce: this.#nonce })}\n`
    );
    return path;
  }

  /** False for a holder without an identity: its liveness is unknown. */
  #isDead(holder: Holder | undefined): holder is Holder {
    return holder !== undefined && this.#processes.liveness(holder) === 'dead';
  }

  #isAbandoned(found: Found): boolean {
    return found.holder ? this.#isDead(found.holder) : isLeftOver(found);
  }

  /** False when another process owns the claim. */
  #removeLock(name: string): boolean {
    const claim = this.#claimRemoval(join(this.#directory, `reap.${name}`));
    if (claim === undefined) return false;
    try {
      if (findHolder(this.path)?.name === name) {
        remove(this.path);
        this.takeovers += 1;
      }
    } finally {
      // The claim is obsolete when the name is no longer in the lock. Otherwise
      // the removal failed, and another process may try.
      remove(claim);
    }
    return true;
  }

  /** The path of the claim; undefined while a living process owns it. */
  #claimRemoval(name: string): string | undefined {
    if (this.#linkTo(name)) return name;
    const owner = findHolder(name)?.holder;
    if (owner?.nonce === this.#nonce) return name;
    return this.#isDead(owner)
      ? this.#claimRemoval(`${name}.${owner.nonce}`)
      : undefined;
  }

  /** Removes identity files of dead processes and obsolete claims. */
  #sweep(): void {
    try {
      this.#removeDead();
    } catch {
      // Leftovers are harmless.
    }
  }

  #removeDead(): void {
    if (!existsSync(this.#directory)) return;
    removeLeftovers(this.#directory);
    const names = readdirSync(this.#directory);
    // Read after the names: a name that is no longer in the lock never
    // returns, so its claim is obsolete.
    const current = findHolder(this.path)?.name;
    for (const name of names) {
      const path = join(this.#directory, name);
      const [kind = '', owner] = name.split('.');
      if (kind === 'reap' && owner !== current) remove(path);
      if (!/^\d+\.[0-9a-f]{16}$/.test(name)) continue;
      if (this.#isDead(findHolder(path)?.holder)) remove(path);
    }
  }

  #locked(found: Found, heldMs: number): HostError {
    const { holder } = found;
    if (!holder) return lockedByForeigner(this.path, found);
    if (heldMs < holdTimeoutMs) return lockedByMany(this.path, totalTimeoutMs);
    return lockedByOne(this.path, holder, heldMs, this.#processes.liveness);
  }
}

/**
 * Runs work under a lock that is used rarely, and leaves no file of it.
 * @throws HostError `state_locked`, as `hold`
 */
export async function whileLocked(
  path: string,
  processes: LivenessCheck,
  work: () => Promise<void>
): Promise<void> {
  const servers = `${path}.servers`;
  const lock = new FileLock(path, servers, processes);
  try {
    await lock.holdWhile(work);
  } finally {
    lock.close();
    try {
      remove(join(servers, '.gitignore'));
      rmdirSync(servers);
    } catch {
      // The directory is in use: another process waits for the lock.
    }
  }
}
