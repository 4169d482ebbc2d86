import { isUtf8 } from 'node:buffer';
import {
  type BigIntStats,
  close,
  closeSync,
  fstatSync,
  lstatSync,
  readSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { errnoOf, HostError, messageOf } from '../errors.ts';
import {
  createOnce,
  putInPlace,
  replaceFile,
  settleIn
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import {
  NotRegular,
  openRegular,
  ownReadFlags,
  readRegular
} from '../state/regular-file.ts';
import { type Converted, convertPublished } from './published-file.ts';
import { SpareRoom } from './spare-room.ts';
import { type CouncilState, emptyState, stateSchema } from './state.ts';
import {
  decodeWith,
  encode,
  encodeWith,
  type KnownLines
} from './state-text.ts';

/** What is in the file, and what has to be kept beside it first. */
interface Contents {
  state: CouncilState;
  converted: Converted | undefined;
  /** As they stand in the file, where it is ours. */
  lines?: KnownLines | undefined;
}

/**
 * The file that a council lives in, and `history/` beside it. Replaced whole:
 * who reads it needs no lock. Never written over when it is not understood.
 */
export class StateFile {
  readonly path: string;
  #stamp = '';
  #contents: Contents | undefined;
  /**
   * The file that we know, kept open: while it is, no other file gets its
   * number, so that a stamp is never that of two files. Times alone are too
   * coarse on some systems.
   */
  #known: number | undefined;
  #isSettled = true;
  readonly #settleIn: (directory: string) => void;
  readonly #room = new SpareRoom();

  /** @param sync makes what was put into a directory stay there */
  constructor(path: string, sync = settleIn) {
    this.path = path;
    this.#settleIn = sync;
  }

  /** Changes with every writing of the file, by whomever. */
  stamp(): string {
    const file = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    return file ? stampOf(file) : '';
  }

  /**
   * The state as it stands.
   * @throws HostError `state_invalid` naming the file and what is wrong in it
   */
  read(): CouncilState {
    return this.#read().state;
  }

  /**
   * Puts a state in its place; a power cut may take it back until `settle`.
   * For who holds the lock and has read the file since.
   * @throws the system's error when the disk does not take it
   */
  write(state: CouncilState): void {
    const { converted, lines } = this.#read();
    ensureDirectory(dirname(this.path));
    if (converted) this.#keepOriginal(converted);
    const { bytes, known } = encodeWith(state, lines, (size) =>
      this.#room.take(size)
    );
    putInPlace(this.path, bytes, true);
    this.#isSettled = false;
    try {
      this.#know({ state, converted: undefined, lines: known }, this.#open());
    } catch {
      // It is written: then it is read anew next time.
      this.close();
    }
  }

  /**
   * Returns when what was read or written last is there for good: who wrote
   * it may have been killed before he got there. Needs no lock.
   */
  settle(): void {
    if (this.#isSettled) return;
    this.#settleIn(dirname(this.path));
    this.#isSettled = true;
  }

  /** Forgets the file; it may be read again. */
  close(): void {
    if (this.#known !== undefined) closeSync(this.#known);
    this.#known = undefined;
    this.#contents = undefined;
  }

  /** Keeps a session that is over, whole. @returns its file */
  archive(state: CouncilState): string {
    const history = join(dirname(this.path), 'history');
    ensureDirectory(history);
    const path = join(history, `${fileNameOf(state.session?.id ?? '')}.json`);
    // Who was killed before the next session began left a copy that grew old.
    replaceFile(path, encode(state), true);
    return path;
  }

  #read(): Contents {
    const stamp = this.stamp();
    if (this.#contents && stamp === this.#stamp) return this.#contents;
    if (stamp === '') {
      this.close();
      return nothing;
    }
    const descriptor = this.#open();
    try {
      const contents = this.#contentsOf(this.#bytes(descriptor));
      this.#know(contents, descriptor);
      return contents;
    } catch (error) {
      if (this.#known !== descriptor) closeSync(descriptor);
      throw error;
    }
  }

  #know(contents: Contents, descriptor: number): void {
    this.#stamp = stampOf(fstatSync(descriptor, { bigint: true }));
    this.#contents = contents;
    this.#isSettled = false;
    if (contents.lines) this.#room.keep(contents.lines.lines);
    // The last one to close it waits until its room on the disk is free.
    if (this.#known !== undefined) close(this.#known, () => undefined);
    this.#known = descriptor;
  }

  #open(): number {
    try {
      return openRegular(this.path, ownReadFlags);
    } catch (error) {
      if (error instanceof NotRegular) throw this.#invalid('is no file');
      if (errnoOf(error) === 'ELOOP') throw this.#invalid('is a symbolic link');
      throw this.#invalid(`cannot be read (${errnoOf(error)})`);
    }
  }

  #bytes(descriptor: number): Buffer {
    try {
      const bytes = this.#room.take(fstatSync(descriptor).size);
      for (let end = 0; end < bytes.length; ) {
        const count = readSync(descriptor, bytes, { offset: end });
        if (count === 0) return bytes.subarray(0, end);
        end += count;
      }
      return bytes;
    } catch (error) {
      throw this.#invalid(`cannot be read (${errnoOf(error)})`);
    }
  }

  #contentsOf(bytes: Buffer): Contents {
    const { lines } = this.#contents ?? {};
    const decoded = lines && decodeWith(bytes, lines);
    return decoded
      ? { state: decoded.state, converted: undefined, lines: decoded.known }
      : this.#parse(bytes);
  }

  #parse(bytes: Buffer): Contents {
    // What is no text would be written back as something else.
    if (!isUtf8(bytes)) throw this.#invalid('is not UTF-8');
    const text = bytes.toString();
    if (text.trim() === '') throw this.#invalid('is empty');
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#invalid(`is no JSON (${messageOf(error).slice(0, 120)})`);
    }
    const own = stateSchema().safeParse(value);
    if (own.success) return { state: own.data, converted: undefined };
    const converted = convertPublished(value);
    if (converted) return { state: converted.state, converted };
    throw this.#invalid(`does not hold a council (${faultOf(own.error)})`);
  }

  /** Before the first writing: everything that the other schema held. */
  #keepOriginal({ from, others }: Converted): void {
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
      'It was left as it is. Mend it, or move it away to begin anew, and call again.'
    );
  }
}

function stampOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino} ${mtimeNs} ${size}`;
}

const nothing: Contents = { state: emptyState, converted: undefined };

/** Ids of ours are file names; a file made by hand may hold any. */
export function fileNameOf(id: string): string {
  return /^[\w-]{1,64}$/.test(id)
    ? id
    : Buffer.from(id).toString('base64url').slice(0, 120);
}

function faultOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.join('.') || 'at its root';
  return `${path}: ${issue?.message}`;
}
