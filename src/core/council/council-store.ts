import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoOf, HostError, storageError } from '../errors.ts';
import {
  isSameProcess,
  type ProcessIdentity
} from '../processes/process-identity.ts';
import { isTemporary, remove } from '../state/files/atomic-file.ts';
import { ensureDirectory } from '../state/files/directories.ts';
import { FileLock, type LivenessCheck } from '../state/locks/file-lock.ts';
import { LockQueue } from '../state/locks/lock-queue.ts';
import type { CouncilState } from './state.ts';
import { StateFile } from './state-file.ts';

/** The state after a change, and the result for its caller. */
export interface Change<Result> {
  state: CouncilState;
  result: Result;
}

/** Returns the changed state, or rejects its caller's promise. */
type Apply = (state: CouncilState) => CouncilState;

/**
 * The state of the council, which any number of processes share. Changes that
 * this process makes while it waits for the lock, or writes, are batched. Each
 * promise resolves when the file with its change is on disk.
 */
export class CouncilStore {
  readonly file: StateFile;
  readonly #lock: FileLock;
  readonly #queue: LockQueue<Apply>;
  #tidiedAfter = -1;

  constructor(path: string, processes: LivenessCheck) {
    this.file = new StateFile(path);
    this.#lock = new FileLock(`${path}.lock`, `${path}.servers`, processes);
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

  /** Reads the current state without the lock. */
  read(): CouncilState {
    return this.file.read();
  }

  /**
   * Changes the state. `work` may run long after the call, and gets the newest
   * state; an error that it throws rejects the promise and changes nothing.
   * @throws HostError `state_locked`, `state_invalid`, `storage_full`,
   *   `storage_unwritable`: then nothing was recorded
   */
  change<Result>(
    work: (state: CouncilState) => Change<Result>
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      // `work` may write files too, for example to `history/`.
      const failed = (error: unknown) =>
        reject(writeError(error, this.file.path));
      let done: Change<Result> | undefined;
      const apply: Apply = (state) => {
        try {
          done = work(state);
          return done.state;
        } catch (error) {
          failed(error);
          return state;
        }
      };
      this.#queue.add(apply).then(() => done && resolve(done.result), failed);
    });
  }

  /** Closes the file, and removes this process's identity file for the lock. */
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

  /** Removes the temporary files of killed lock holders. */
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
      // A remaining file only takes space.
    }
  }
}

function writeError(error: unknown, path: string): unknown {
  const obstacle = obstacleOf(error, path);
  if (obstacle !== undefined)
    return new HostError(
      'storage_unwritable',
      `${obstacle} is not a directory, so the council cannot be written.`,
      'Nothing was recorded. Move it away, and call again.'
    );
  return storageError(error, path, {
    full: 'Nothing was recorded. Free some space and call again.',
    unwritable:
      'Nothing was recorded. Check owner and permissions of its directory, or name another file with AGENTS_COUNCIL_STATE_PATH.'
  });
}

/** The path of a file where the council needs a directory. */
function obstacleOf(error: unknown, path: string): string | undefined {
  if (errnoOf(error) !== 'EEXIST') return undefined;
  const found: unknown = Reflect.get(Object(error), 'path');
  return typeof found === 'string' && found !== path ? found : undefined;
}

/** The server, or the client of a server, that owns a name in the council. */
export interface Owner extends ProcessIdentity {
  /** The client, if the server has several; unique in its process. */
  session?: string | undefined;
}

export interface OwnerLiveness {
  self: Owner;
  liveness: (owner: Owner) => ReturnType<LivenessCheck['liveness']>;
}

export function isSameOwner(one: Owner, other: Owner): boolean {
  return isSameProcess(one, other) && one.session === other.session;
}

/**
 * The liveness check for a client of this process, as the owner of names. For
 * this process, a disconnected client is dead and its names are free. For other
 * servers, its names belong to this process for as long as it lives.
 */
export function ownerLiveness(
  { self, liveness }: LivenessCheck,
  session: string,
  isConnected: (session: string) => boolean
): OwnerLiveness {
  return {
    self: { ...self, session },
    liveness: (owner) =>
      owner.session !== undefined &&
      isSameProcess(owner, self) &&
      !isConnected(owner.session)
        ? 'dead'
        : liveness(owner)
  };
}
