import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { storageError } from '../errors.ts';
import { isTemporary, remove } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { FileLock, type Witnesses } from '../state/file-lock.ts';
import { LockQueue } from '../state/lock-queue.ts';
import type { CouncilState } from './state.ts';
import { StateFile } from './state-file.ts';

/** What a change makes of the state, and what its caller is told of it. */
export interface Change<Told> {
  state: CouncilState;
  told: Told;
}

/** Changes the state, or settles its caller with why it could not. */
type Apply = (state: CouncilState) => CouncilState;

/**
 * The state that any number of processes share. Changes of one process that
 * come while it waits for the lock, or writes, go into one writing: each is
 * answered when the file that holds it is on disk.
 */
export class CouncilStore {
  readonly file: StateFile;
  readonly #lock: FileLock;
  readonly #queue: LockQueue<Apply>;
  #tidiedAfter = -1;

  constructor(path: string, witnesses: Witnesses) {
    this.file = new StateFile(path);
    this.#lock = new FileLock(`${path}.lock`, `${path}.servers`, witnesses);
    this.#queue = new LockQueue(
      this.#lock,
      () => ensureDirectory(dirname(path)),
      (changes) => {
        this.#tidy();
        this.#write(changes);
      },
      () => this.file.settle()
    );
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
      // It may have had something to write, too.
      const failed = (error: unknown) =>
        reject(writeError(error, this.file.path));
      let told: { value: Told } | undefined;
      const apply: Apply = (state) => {
        try {
          const change = work(state);
          told = { value: change.told };
          return change.state;
        } catch (error) {
          failed(error);
          return state;
        }
      };
      this.#queue.add(apply).then(() => told && resolve(told.value), failed);
    });
  }

  /** Takes away what says that this process is there. */
  close(): void {
    this.file.close();
    this.#lock.close();
  }

  #write(changes: Apply[]): void {
    const before = this.file.read();
    const after = changes.reduce((state, apply) => apply(state), before);
    if (after === before) return;
    this.#lock.checkHeld();
    this.file.write(after);
  }

  /** What killed holders left half-written: there is no other holder now. */
  #tidy(): void {
    if (this.#tidiedAfter === this.#lock.takeovers) return;
    this.#tidiedAfter = this.#lock.takeovers;
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
