import { constants, lstatSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, messageOf } from '../errors.ts';
import { remove, syncDirectory, writeNew } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { FileLock, type Witnesses } from '../state/file-lock.ts';
import { findHolder } from '../state/lock-holder.ts';
import { openRegularLater } from '../state/regular-file.ts';
import { JournalFiles } from './journal-files.ts';

export interface RotationOptions {
  /** The file that is written to. */
  journal: string;
  /** Above so many bytes it becomes a segment. */
  maximumBytes: number;
  /** Where processes of this machine meet who want to rotate. */
  lock: string;
  witnesses: Witnesses;
  onProblem: (problem: unknown) => void;
}

/** Without waiting for the other end of a FIFO. */
const readWrite = constants.O_RDWR | (constants.O_NONBLOCK ?? 0);

/** So long nothing is tried after it could not be done. */
const pauseMs = 60_000;

/**
 * Archives the journal's file when it is long enough. Nothing in it is
 * touched, and who writes to it takes no notice: a record goes to the file
 * that had the name when its writer opened it.
 */
export class Rotation {
  readonly maximumBytes: number;
  readonly #options: RotationOptions;
  readonly #files: JournalFiles;
  readonly #lock: FileLock;
  #work: Promise<void> | undefined;
  #pausedAt: number | undefined;
  #isTold = false;

  constructor(options: RotationOptions) {
    this.#options = options;
    this.maximumBytes = options.maximumBytes;
    this.#files = new JournalFiles(options.journal);
    const { lock, witnesses } = options;
    this.#lock = new FileLock(lock, `${lock}.servers`, witnesses);
  }

  /** Rotates if it is time to. Never rejects: it tells onProblem, once. */
  run(): Promise<void> {
    this.#work ??= this.#rotate().finally(() => {
      this.#work = undefined;
    });
    return this.#work;
  }

  /** Takes away what says that this process is there. */
  close(): void {
    this.#lock.close();
  }

  async #rotate(): Promise<void> {
    const now = performance.now();
    if (this.#pausedAt !== undefined && now - this.#pausedAt < pauseMs) return;
    this.#pausedAt = undefined;
    try {
      if (!this.#isDue() || this.#isOthers()) return;
      if (!(await flush(this.#options.journal))) return;
      ensureDirectory(dirname(this.#options.lock));
      await this.#lock.hold(() => {
        if (this.#isDue()) this.#archive();
      });
      this.#isTold = false;
    } catch (error) {
      this.#pausedAt = now;
      if (this.#isTold) return;
      this.#isTold = true;
      this.#options.onProblem(
        new Error(
          `${this.#options.journal} could not be rotated, and goes on growing: ${messageOf(error)}`
        )
      );
    }
  }

  /** A link is left alone: it would point elsewhere from where it went. */
  #isDue(): boolean {
    const state = lstatSync(this.#options.journal, { throwIfNoEntry: false });
    return state?.isFile() === true && state.size > this.maximumBytes;
  }

  /** Somebody is about to: not to be waited for, as it may be paused. */
  #isOthers(): boolean {
    const holder = findHolder(this.#options.lock)?.holder;
    return (
      holder !== undefined &&
      this.#options.witnesses.liveness(holder) !== 'dead'
    );
  }

  /** A killed process leaves an empty segment at most, and no gap matters. */
  #archive(): void {
    const { journal } = this.#options;
    const { archive } = this.#files;
    ensureDirectory(archive);
    const segment = this.#claimSegment();
    try {
      this.#lock.checkHeld();
      renameSync(journal, segment);
    } catch (error) {
      remove(segment);
      // Somebody moved it away by hand.
      if (errnoOf(error) === 'ENOENT') return;
      throw error;
    }
    for (const directory of [archive, dirname(journal)]) sync(directory);
  }

  /** Exclusive, so that nothing that lies there can be written over. */
  #claimSegment(): string {
    for (let number = this.#files.nextNumber(); ; number += 1) {
      const path = this.#files.segmentPath(number);
      try {
        writeNew(path, '');
        return path;
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
      }
    }
  }
}

/**
 * What was written long ago should not be lost with the power. Not under the
 * lock, as it may take long. False when another process has archived it.
 */
async function flush(path: string): Promise<boolean> {
  const file = await openRegularLater(path, readWrite).catch(
    (error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  );
  try {
    await file?.datasync();
  } finally {
    await file?.close();
  }
  return file !== undefined;
}

function sync(directory: string): void {
  try {
    syncDirectory(directory);
  } catch {
    // It is in its place: to say that it failed would be wrong.
  }
}
