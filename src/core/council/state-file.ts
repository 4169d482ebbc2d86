import { isUtf8 } from 'node:buffer';
import {
  type BigIntStats,
  close,
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  readFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { errnoOf, HostError, messageOf } from '../errors.ts';
import {
  createOnce,
  replaceFile,
  replaceWithoutSync,
  trySyncDirectory
} from '../state/files/atomic-file.ts';
import { ensureDirectory } from '../state/files/directories.ts';
import {
  NotRegular,
  openRegular,
  ownReadFlags,
  readRegular
} from '../state/files/regular-file.ts';
import { type Converted, convertPublished } from './published-file.ts';
import {
  type CouncilState,
  decodeWith,
  emptyState,
  encode,
  encodeWith,
  type KnownLines,
  stateSchema
} from './state.ts';

interface Contents {
  state: CouncilState;
  /** Set if the file has the published schema: a write backs it up first. */
  converted?: Converted;
  /** The known lines of the file; absent after the whole file was parsed. */
  lines?: KnownLines;
}

/**
 * The council's file, with `history/` next to it. A write replaces the whole
 * file, so a read needs no lock. An invalid file is never overwritten.
 */
export class StateFile {
  readonly path: string;
  #stamp = '';
  #contents: Contents | undefined;
  /**
   * The last file, kept open so that no newer file gets its inode number, and
   * with it the same stamp. File times are too coarse on some systems.
   */
  #descriptor: number | undefined;
  #isSettled = true;
  readonly #trySyncDirectory: (directory: string) => void;

  /** @param sync makes the entries of a directory durable */
  constructor(path: string, sync = trySyncDirectory) {
    this.path = path;
    this.#trySyncDirectory = sync;
  }

  /** Changes with every write of the file, by any process. */
  stamp(): string {
    const file = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    return file ? stampOf(file) : '';
  }

  /** @throws HostError `state_invalid` with the path and the fault */
  read(): CouncilState {
    return this.#read().state;
  }

  /**
   * Replaces the state. Until `settle`, a power failure may undo the write. The
   * caller must hold the lock, and have read the state while holding it.
   * @throws HostError `state_invalid`; the system's error when the write fails
   */
  write(state: CouncilState): void {
    const { converted, lines } = this.#read();
    ensureDirectory(dirname(this.path));
    if (converted) this.#backUp(converted);
    const { bytes, known } = encodeWith(state, lines);
    replaceWithoutSync(this.path, bytes, true);
    this.#isSettled = false;
    try {
      this.#cache({ state, lines: known }, this.#open());
    } catch {
      // The state is on disk; the next call reads the file again.
      this.close();
    }
  }

  /**
   * Makes the state that was last read or written durable: its writer may have
   * been killed before it could. Needs no lock.
   */
  settle(): void {
    if (this.#isSettled) return;
    this.#trySyncDirectory(dirname(this.path));
    this.#isSettled = true;
  }

  /** Closes the file; a later call opens it again. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#contents = undefined;
  }

  /** Saves a state with its session in `history/`. @returns the path */
  archive(state: CouncilState): string {
    const history = join(dirname(this.path), 'history');
    ensureDirectory(history);
    const path = join(history, `${fileNameOf(state.session?.id ?? '')}.json`);
    // A process that was killed before the next session may have left a copy.
    replaceFile(path, encode(state), true);
    return path;
  }

  #read(): Contents {
    const stamp = this.stamp();
    if (this.#contents && stamp === this.#stamp) return this.#contents;
    if (stamp === '') {
      this.close();
      return { state: emptyState };
    }
    const descriptor = this.#open();
    try {
      const contents = this.#contentsOf(this.#bytes(descriptor));
      this.#cache(contents, descriptor);
      return contents;
    } catch (error) {
      if (this.#descriptor !== descriptor) closeSync(descriptor);
      throw error;
    }
  }

  #cache(contents: Contents, descriptor: number): void {
    this.#stamp = stampOf(fstatSync(descriptor, { bigint: true }));
    this.#contents = contents;
    this.#isSettled = false;
    // Asynchronous, because the last close blocks until the space is freed.
    if (this.#descriptor !== undefined)
      close(this.#descriptor, () => undefined);
    this.#descriptor = descriptor;
  }

  #open(): number {
    try {
      return openRegular(this.path, ownReadFlags);
    } catch (error) {
      if (error instanceof NotRegular) throw this.#invalid('is not a file');
      if (errnoOf(error) === 'ELOOP') throw this.#invalid('is a symbolic link');
      throw this.#invalid(`cannot be read (${errnoOf(error)})`);
    }
  }

  #bytes(descriptor: number): Buffer {
    try {
      return readFileSync(descriptor);
    } catch (error) {
      throw this.#invalid(`cannot be read (${errnoOf(error)})`);
    }
  }

  #contentsOf(bytes: Buffer): Contents {
    const { lines } = this.#contents ?? {};
    const decoded = lines && decodeWith(bytes, lines);
    return decoded
      ? { state: decoded.state, lines: decoded.known }
      : this.#parse(bytes);
  }

  #parse(bytes: Buffer): Contents {
    // A write would replace the invalid bytes.
    if (!isUtf8(bytes)) throw this.#invalid('is not UTF-8');
    const text = bytes.toString();
    if (text.trim() === '') throw this.#invalid('is empty');
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#invalid(`is not JSON (${messageOf(error).slice(0, 120)})`);
    }
    const own = stateSchema().safeParse(value);
    if (own.success) return { state: own.data };
    const converted = convertPublished(value);
    if (converted) return { state: converted.state, converted };
    throw this.#invalid(`does not hold a council (${faultOf(own.error)})`);
  }

  /** Backs up a file of the published schema before the first write. */
  #backUp({ from, others }: Converted): void {
    for (const other of others) this.archive(other);
    const original = readRegular(this.path, ownReadFlags);
    for (let number = 1; ; number += 1) {
      const more = number === 1 ? '' : `.${number}`;
      const backup = `${this.path}.${from}.bak${more}`;
      if (createOnce(backup, original)) return;
      if (readRegular(backup, ownReadFlags).equals(original)) return;
    }
  }

  #invalid(fault: string): HostError {
    return new HostError(
      'state_invalid',
      `The council's file ${this.path} ${fault}.`,
      'It was left as it is. Repair it, or move it away to start over, and call again.'
    );
  }
}

function stampOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino} ${mtimeNs} ${size}`;
}

/**
 * Returns the path of a file in `texts/` with a text that is too long for an
 * answer, and writes it on first use. If that fails, returns the path of the
 * council's own file, which also has the text.
 */
export function longTextFile(
  statePath: string,
  id: string,
  text: string
): string {
  const directory = join(dirname(statePath), 'texts');
  const path = join(directory, `${fileNameOf(id)}.txt`);
  if (existsSync(path)) return path;
  try {
    ensureDirectory(directory);
    createOnce(path, text);
    return path;
  } catch {
    return statePath;
  }
}

/** Encodes ids that are no file names, as in a file that a user edited. */
function fileNameOf(id: string): string {
  return /^[\w-]{1,64}$/.test(id)
    ? id
    : Buffer.from(id).toString('base64url').slice(0, 120);
}

function faultOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.join('.') || 'at its root';
  return `${path}: ${issue?.message}`;
}
