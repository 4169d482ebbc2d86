import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HostError, storageError } from '../errors.ts';
import { isTemporary, remove } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { FileLock, type Witnesses } from '../state/file-lock.ts';
import type { CouncilState } from './state.ts';
import { StateFile } from './state-file.ts';

/** What a change makes of the state, and what its caller is told of it. */
export interface Change<Told> {
  state: CouncilState;
  told: Told;
}

interface Waiting {
  /** Changes the state, or settles its caller with why it could not. */
  apply: (state: CouncilState) => CouncilState;
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * The state that any number of processes share. Changes of one process that
 * come while it waits for the lock, or writes, go into one writing: each is
 * answered when the file that holds it is on disk.
 */
export class CouncilStore {
  readonly file: StateFile;
  readonly #lock: FileLock;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #isTidy = false;

  constructor(path: string, witnesses: Witnesses) {
    this.file = new StateFile(path);
    this.#lock = new FileLock(`${path}.lock`, `${path}.servers`, witnesses);
  }

  /** The state as it stands: no lock is taken. */
  read(): CouncilState {
    return this.file.read();
  }

  /**
   * Changes the state. `work` may run long after the call, gets the newest
   * state, and what it throws goes to the caller and changes nothing.
   * @throws HostError `state_locked`, `state_invalid`, `storage_full`,
   *   `storage_unwritable`: then nothing was recorded
   */
  change<Told>(work: (state: CouncilState) => Change<Told>): Promise<Told> {
    return new Promise((resolve, reject) => {
      let told: { value: Told } | undefined;
      this.#waiting.push({
        apply: (state) => {
          try {
            const change = work(state);
            told = { value: change.told };
            return change.state;
          } catch (error) {
            // It may have had something to write, too.
            reject(writeError(error, this.file.path));
            return state;
          }
        },
        done: () => told && resolve(told.value),
        failed: reject
      });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  /** Takes away what says that this process is there. */
  close(): void {
    this.file.close();
    this.#lock.close();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      let taken: Waiting[] = [];
      try {
        ensureDirectory(dirname(this.file.path));
        await this.#lock.hold(() => {
          this.#tidy();
          taken = this.#waiting;
          this.#waiting = [];
          this.#write(taken);
        });
        for (const { done } of taken) done();
      } catch (error) {
        // Nobody got the lock: all who wait for it are told.
        const all = [...taken, ...(taken.length > 0 ? [] : this.#waiting)];
        if (taken.length === 0) this.#waiting = [];
        for (const { failed } of all) failed(writeError(error, this.file.path));
      }
    }
    this.#isWriting = false;
  }

  #write(changes: Waiting[]): void {
    const before = this.file.read();
    const after = changes.reduce((state, { apply }) => apply(state), before);
    if (after === before) return;
    if (!this.#lock.isHeld())
      throw new HostError(
        'state_locked',
        `Somebody removed ${this.#lock.path} while it was in use.`,
        'Nothing was recorded. Leave it alone, and call again.'
      );
    this.file.write(after);
  }

  /** What killed holders left half-written: there is no other holder now. */
  #tidy(): void {
    if (this.#isTidy) return;
    this.#isTidy = true;
    const directory = dirname(this.file.path);
    const own = `${basename(this.file.path)}.`;
    try {
      for (const name of readdirSync(directory))
        if (name.startsWith(own) && isTemporary(name))
          remove(join(directory, name));
    } catch {
      // It is only in the way.
    }
  }
}

function writeError(error: unknown, path: string): unknown {
  return storageError(error, path, {
    full: 'Nothing was recorded. Free some space and call again.',
    unwritable:
      'Nothing was recorded. Check owner and permissions of its directory, or name another file with AGENTS_COUNCIL_STATE_PATH.'
  });
}
