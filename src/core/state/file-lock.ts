import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoOf, HostError } from '../errors.ts';
import type { Processes } from '../runs/ports.ts';
import { createOnce, remove, removeLeftovers } from './atomic-file.ts';
import { ensureDirectory } from './directories.ts';
import { lockedByForeigner, lockedByMany, lockedByOne } from './lock-error.ts';
import {
  type Found,
  findHolder,
  type Holder,
  isLeftOver
} from './lock-holder.ts';

export type Witnesses = Pick<Processes, 'self' | 'liveness'>;

/** So long one holding may last before who waits is told. */
const patienceMs = 10_000;
/** So long somebody waits at most, however often the lock changes hands. */
const longestMs = 45_000;
/** Who holds it longer may have died: looked up then, and again after it. */
const suspicionMs = 20;

/**
 * A lock that processes of one machine share, held for milliseconds. It is a
 * hard link to a file that tells who the process is, so that it appears whole
 * or not at all, and costs one system call. Nothing about it is a matter of
 * time: only a holder that is dead loses it, never one that is slow, paused
 * or on another machine. Only for what another program wrote in its place,
 * which says less of itself, age counts as well.
 *
 * Two who find a dead holder must not both remove the lock, as the second
 * would remove the lock of who came next. So the right to remove it is a file
 * too, named for the dead holder, or for the file of another program by its
 * inode and the time of its last change, and created exclusively; a name is
 * never used again, so who has the right and still finds that name may remove
 * the lock. A dead owner of that right is succeeded in the same way.
 *
 * One call of `hold` at a time for each instance.
 */
export class FileLock {
  readonly path: string;
  /** Counts the dead holders it was taken from: they left work half done. */
  takeovers = 0;
  readonly #directory: string;
  readonly #with: Witnesses;
  #ownNonce: string | undefined;
  #card: string | undefined;

  /** @param directory where each process keeps what says who it is */
  constructor(path: string, directory: string, witnesses: Witnesses) {
    this.path = path;
    this.#directory = directory;
    this.#with = witnesses;
  }

  /**
   * Does something that nobody else does meanwhile. It may not wait.
   * @throws HostError `state_locked` after 10 s of the same living holder
   */
  async hold<Result>(work: () => Result): Promise<Result> {
    await this.#acquire();
    try {
      return work();
    } finally {
      this.#release();
    }
  }

  /**
   * Before anything is written under it.
   * @throws HostError `state_locked` when somebody took it away by hand
   */
  checkHeld(): void {
    if (this.isHeld()) return;
    throw new HostError(
      'state_locked',
      `Somebody removed ${this.path} while it was in use.`,
      'Nothing was recorded. Leave it alone, and call again.'
    );
  }

  /** True unless somebody took the lock away by hand. */
  isHeld(): boolean {
    return findHolder(this.path)?.holder?.nonce === this.#nonce;
  }

  /** Takes away what this process and dead ones left beside the lock. */
  close(): void {
    if (this.#card === undefined) return;
    remove(this.#card);
    this.#card = undefined;
    this.#sweep();
  }

  /** Made at first use, as a start is slowed by what makes it. */
  get #nonce(): string {
    this.#ownNonce ??= randomBytes(8).toString('hex');
    return this.#ownNonce;
  }

  async #acquire(): Promise<void> {
    const isFirst = this.#card === undefined;
    const began = performance.now();
    let since = began;
    let suspected = began;
    let holding = '';
    while (!this.#linkTo(this.path)) {
      const found = findHolder(this.path);
      if (!found) {
        await delay(1);
        continue;
      }
      // What an earlier release could not remove.
      if (found.holder?.nonce === this.#nonce) break;
      const now = performance.now();
      if (found.holding !== holding) {
        holding = found.holding;
        since = now;
        suspected = now;
      }
      if (now - suspected >= suspicionMs) {
        suspected = now + 10 * suspicionMs;
        if (this.#isOver(found) && this.#removeLock(found.name)) continue;
      }
      if (now - since > patienceMs || now - began > longestMs)
        throw this.#locked(found, now - since);
      await delay(1 + Math.random() * Math.min(20, 2 + (now - began) / 10));
    }
    if (isFirst) this.#sweep();
  }

  #release(): void {
    try {
      if (this.isHeld()) remove(this.path);
    } catch {
      // The work is done. What is left here is known as ours next time.
    }
  }

  /** Makes a link to our card; false when there is something by that name. */
  #linkTo(path: string): boolean {
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#card ??= this.#writeCard();
        linkSync(this.#card, path);
        return true;
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return false;
        // Somebody tidied up: our card is gone, or what was to become it.
        if (errnoOf(error) !== 'ENOENT' || attempt > 2) throw error;
        this.#card = undefined;
      }
    }
  }

  #writeCard(): string {
    ensureDirectory(this.#directory);
    const { self } = this.#with;
    const card = join(this.#directory, `${self.pid}.${this.#nonce}`);
    createOnce(card, `${JSON.stringify({ ...self, nonce: this.#nonce })}\n`);
    return card;
  }

  /** Nobody can be said to be dead who does not say who he is. */
  #isDead(holder: Holder | undefined): holder is Holder {
    return holder !== undefined && this.#with.liveness(holder) === 'dead';
  }

  #isOver(found: Found): boolean {
    return found.holder ? this.#isDead(found.holder) : isLeftOver(found);
  }

  /** False when somebody else is about to. */
  #removeLock(name: string): boolean {
    const right = this.#takeRight(join(this.#directory, `reap.${name}`));
    if (right === undefined) return false;
    try {
      if (findHolder(this.path)?.name === name) {
        remove(this.path);
        this.takeovers += 1;
      }
    } finally {
      // Either nobody finds that name in the lock any more, and no right is
      // needed, or another one may try.
      remove(right);
    }
    return true;
  }

  /** The right of that name, or of its dead owner; undefined: not for us. */
  #takeRight(name: string): string | undefined {
    if (this.#linkTo(name)) return name;
    const owner = findHolder(name)?.holder;
    if (owner?.nonce === this.#nonce) return name;
    return this.#isDead(owner)
      ? this.#takeRight(`${name}.${owner.nonce}`)
      : undefined;
  }

  /** What dead processes left beside the lock. */
  #sweep(): void {
    try {
      this.#removeDead();
    } catch {
      // It is only in the way.
    }
  }

  #removeDead(): void {
    if (!existsSync(this.#directory)) return;
    removeLeftovers(this.#directory);
    const names = readdirSync(this.#directory);
    // Looked up after them: a dead holder's name in the lock, once it is
    // gone from there, never comes again, and no right to remove it is needed.
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
    if (heldMs < patienceMs) return lockedByMany(this.path, longestMs);
    return lockedByOne(this.path, holder, heldMs, this.#with);
  }
}
