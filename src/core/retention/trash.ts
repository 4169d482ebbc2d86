import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { parseIdentity } from '../processes/process-identity.ts';
import { readIfExists, remove, writeNew } from '../state/files/atomic-file.ts';
import {
  ensureDirectory,
  isOwnDirectory,
  namesIn
} from '../state/files/directories.ts';
import type { LivenessCheck } from '../state/locks/file-lock.ts';

/** In a younger folder, the file `owner` may not be written yet. */
const youngMs = 60_000;
/** The suffix of a folder whose removal is in the journal. */
const journalled = '.told';

/** A folder that a killed clean left in the trash. */
export interface Leftover {
  name: string;
  /** Whether its removal is in the journal. */
  isJournalled: boolean;
}

/**
 * `trash/<clean>/` in the record. A folder is renamed into it before it is
 * removed, so that it disappears whole even if this process is killed. The
 * file `owner` names the process. Once that is dead, exactly one later clean
 * takes over each folder that it left.
 */
export class Trash {
  readonly #root: string;
  readonly #own: string;
  readonly #processes: LivenessCheck;
  #isCreated = false;

  constructor(stateDirectory: string, processes: LivenessCheck) {
    this.#root = join(stateDirectory, 'trash');
    this.#own = join(this.#root, randomBytes(6).toString('hex'));
    this.#processes = processes;
  }

  /**
   * Moves a folder into the trash. Returns false if it no longer exists.
   * @throws the system's error when it cannot be moved
   */
  take(path: string, name: string): boolean {
    this.#open();
    return renamed(path, join(this.#own, name));
  }

  pathOf(name: string): string {
    return join(this.#own, name);
  }

  putBack(path: string, name: string): void {
    renamed(this.pathOf(name), path);
  }

  /** Called when the journal has recorded the removal. */
  noteJournalled(name: string): void {
    renamed(this.pathOf(name), this.pathOf(`${name}${journalled}`));
  }

  /** @throws the system's error when something in it cannot be removed */
  empty(name: string): void {
    for (const one of [name, `${name}${journalled}`])
      rmSync(this.pathOf(one), { recursive: true, force: true, maxRetries: 3 });
  }

  /** Takes over the folders that killed cleans left. */
  adopt(): Leftover[] {
    const adopted: Leftover[] = [];
    for (const clean of namesIn(this.#root)) {
      const directory = join(this.#root, clean);
      if (!isOwnDirectory(directory) || !this.#isAbandoned(directory)) continue;
      for (const name of namesIn(directory))
        if (name !== 'owner' && this.take(join(directory, name), name))
          adopted.push({
            name: name.replace(journalled, ''),
            isJournalled: name.endsWith(journalled)
          });
      removeEmpty(directory);
    }
    return adopted;
  }

  /** The number of folders that killed cleans left. */
  leftovers(): number {
    return namesIn(this.#root)
      .map((clean) => join(this.#root, clean))
      .filter(
        (directory) => isOwnDirectory(directory) && this.#isAbandoned(directory)
      ).length;
  }

  close(): void {
    if (this.#isCreated) removeEmpty(this.#own);
  }

  #open(): void {
    if (this.#isCreated) return;
    ensureDirectory(this.#root);
    mkdirSync(this.#own, { mode: 0o700 });
    this.#isCreated = true;
    try {
      const { self } = this.#processes;
      writeNew(join(this.#own, 'owner'), JSON.stringify(self));
    } catch {
      // On a full disk, other cleans treat the folder as a leftover.
    }
  }

  #isAbandoned(directory: string): boolean {
    if (directory === this.#own) return false;
    const owner = parseIdentity(readIfExists(join(directory, 'owner')) ?? '');
    if (owner) return this.#processes.liveness(owner) === 'dead';
    const file = statSync(directory, { throwIfNoEntry: false });
    return file !== undefined && Math.abs(Date.now() - file.mtimeMs) > youngMs;
  }
}

function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function removeEmpty(directory: string): void {
  try {
    remove(join(directory, 'owner'));
    rmdirSync(directory);
  } catch {
    // The folder is not empty: the next clean tries again.
  }
}
