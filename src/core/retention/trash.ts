import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { readIfThere, remove, writeNew } from '../state/atomic-file.ts';
import { ensureDirectory, namesIn } from '../state/directories.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { parseIdentity } from '../state/process-identity.ts';
import { isOurs } from './census.ts';

/** A folder without its owner's name may be about to get it. */
const nameMs = 60_000;
const told = '.told';

/** What a killed clean left. */
export interface Leftover {
  /** Its name in the trash. */
  name: string;
  /** That it is gone is in the journal. */
  isTold: boolean;
}

/**
 * `trash/<clean>/` in the record: a folder on its way out is renamed into it first,
 * so that it vanishes whole whenever we are killed. `owner` in it says whose
 * it is: what a dead one left, the next clean takes over, one of them only.
 */
export class Trash {
  readonly #root: string;
  readonly #own: string;
  readonly #witnesses: Witnesses;
  #isThere = false;

  constructor(stateDirectory: string, witnesses: Witnesses) {
    this.#root = join(stateDirectory, 'trash');
    this.#own = join(this.#root, randomBytes(6).toString('hex'));
    this.#witnesses = witnesses;
  }

  /**
   * Takes a folder out of its place. False when it is gone already.
   * @throws the system's error when it cannot be moved
   */
  take(path: string, name: string): boolean {
    this.#open();
    return moved(path, join(this.#own, name));
  }

  pathOf(name: string): string {
    return join(this.#own, name);
  }

  putBack(path: string, name: string): void {
    moved(this.pathOf(name), path);
  }

  /** The journal knows of it. */
  noteTold(name: string): void {
    moved(this.pathOf(name), this.pathOf(`${name}${told}`));
  }

  /** @throws the system's error when something in it cannot be removed */
  empty(name: string): void {
    for (const one of [name, `${name}${told}`])
      rmSync(this.pathOf(one), { recursive: true, force: true, maxRetries: 3 });
  }

  /** Takes over what those have left who were killed. */
  adopt(): Leftover[] {
    const adopted: Leftover[] = [];
    for (const clean of namesIn(this.#root)) {
      const directory = join(this.#root, clean);
      if (!isOurs(directory) || !this.#isLeft(directory)) continue;
      for (const name of namesIn(directory))
        if (name !== 'owner' && this.take(join(directory, name), name))
          adopted.push({
            name: name.replace(told, ''),
            isTold: name.endsWith(told)
          });
      removeEmpty(directory);
    }
    return adopted;
  }

  /** Folders there are that nobody is at any more. */
  leftovers(): number {
    return namesIn(this.#root)
      .map((clean) => join(this.#root, clean))
      .filter((directory) => isOurs(directory) && this.#isLeft(directory))
      .length;
  }

  close(): void {
    if (this.#isThere) removeEmpty(this.#own);
  }

  #open(): void {
    if (this.#isThere) return;
    ensureDirectory(this.#root);
    mkdirSync(this.#own, { mode: 0o700 });
    this.#isThere = true;
    try {
      const { self } = this.#witnesses;
      writeNew(join(this.#own, 'owner'), JSON.stringify(self));
    } catch {
      // On a full disk: others take it for one that was left.
    }
  }

  #isLeft(directory: string): boolean {
    if (directory === this.#own) return false;
    const owner = parseIdentity(readIfThere(join(directory, 'owner')) ?? '');
    if (owner) return this.#witnesses.liveness(owner) === 'dead';
    const file = statSync(directory, { throwIfNoEntry: false });
    return file !== undefined && Math.abs(Date.now() - file.mtimeMs) > nameMs;
  }
}

function moved(from: string, to: string): boolean {
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
    // Something could not be removed: the next clean tries again.
  }
}
