import { constants, lstatSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, messageOf } from '../../errors.ts';
import {
  remove,
  trySyncDirectory,
  writeNew
} from '../../state/files/atomic-file.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { openRegularAsync } from '../../state/files/regular-file.ts';
import { FileLock, type LivenessCheck } from '../../state/locks/file-lock.ts';
import { findHolder } from '../../state/locks/lock-holder.ts';
import { JournalFiles } from './journal-files.ts';

interface RotationOptions {
  /** The path of the current file. */
  journal: string;
  /** The journal is rotated above this size. */
  maximumBytes: number;
  /** The path of the lock file that all processes share. */
  lock: string;
  witnesses: LivenessCheck;
  onProblem: (problem: unknown) => void;
}

/** With O_NONBLOCK, opening a FIFO does not block. */
const readWrite = constants.O_RDWR | (constants.O_NONBLOCK ?? 0);

/** The time until the next attempt after a failed rotation. */
const pauseMs = 60_000;

/**
 * Renames the current file of the journal to a segment when it exceeds the
 * limit. The content does not change, and writers need no coordination: a
 * record goes to the file that the writer has opened.
 */
export class Rotation {
  readonly maximumBytes: number;
  readonly #options: RotationOptions;
  readonly #files: JournalFiles;
  readonly #lock: FileLock;
  #work: Promise<void> | undefined;
  #pausedAt: number | undefined;
  #isReported = false;

  constructor(options: RotationOptions) {
    this.#options = options;
    this.maximumBytes = options.maximumBytes;
    this.#files = new JournalFiles(options.journal);
    const { lock, witnesses } = options;
    this.#lock = new FileLock(lock, `${lock}.servers`, witnesses);
  }

  /** Rotates if necessary. Never rejects; `onProblem` gets the first error. */
  run(): Promise<void> {
    this.#work ??= this.#rotate().finally(() => {
      this.#work = undefined;
    });
    return this.#work;
  }

  /** Removes the lock's identity file of this process. */
  close(): void {
    this.#lock.close();
  }

  async #rotate(): Promise<void> {
    const now = performance.now();
    if (this.#pausedAt !== undefined && now - this.#pausedAt < pauseMs) return;
    this.#pausedAt = undefined;
    try {
      if (!this.#isDue() || this.#isLocked()) return;
      if (!(await flush(this.#options.journal))) return;
      ensureDirectory(dirname(this.#options.lock));
      await this.#lock.hold(() => {
        if (this.#isDue()) this.#archive();
      });
      this.#isReported = false;
    } catch (error) {
      this.#pausedAt = now;
      if (this.#isReported) return;
      this.#isReported = true;
      this.#options.onProblem(
        new Error(
          `${this.#options.journal} could not be rotated, and goes on growing: ${messageOf(error)}`
        )
      );
    }
  }

  /** A symbolic link is never rotated: a relative link would break. */
  #isDue(): boolean {
    const state = lstatSync(this.#options.journal, { throwIfNoEntry: false });
    return state?.isFile() === true && state.size > this.maximumBytes;
  }

  /** Whether a live process rotates. It may be paused, so nothing waits. */
  #isLocked(): boolean {
    const holder = findHolder(this.#options.lock)?.holder;
    return (
      holder !== undefined &&
      this.#options.witnesses.liveness(holder) !== 'dead'
    );
  }

  /** A killed process leaves at most an empty segment, which readers skip. */
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
      // The user has moved the file away.
      if (errnoOf(error) === 'ENOENT') return;
      throw error;
    }
    // The segment is in place: a failed sync is no failed rotation.
    for (const directory of [archive, dirname(journal)])
      trySyncDirectory(directory);
  }

  /** Creates the segment exclusively, so that no file is overwritten. */
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
 * Flushes the file to disk, so that a power failure does not lose old records.
 * Runs without the lock, because it may take long. False when another process
 * has archived the file.
 */
async function flush(path: string): Promise<boolean> {
  const file = await openRegularAsync(path, readWrite).catch(
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
