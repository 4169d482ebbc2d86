import { closeSync, fstatSync, type Stats, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { namesIn } from '../state/directories.ts';
import { openRegular, openRegularLater } from '../state/regular-file.ts';

/** One of the files that make up the journal. */
export interface JournalFile {
  path: string;
  /** As it is told: relative to the record. */
  name: string;
  /** Bytes of the journal before this file. */
  start: number;
  size: number;
  /** Which file it is, whatever its name; 0 when it is not there. */
  inode: number;
}

/** A place in the journal, in bytes, and how it was counted. */
export interface Place {
  offset: number;
  /** Where the file began that was written to then. */
  base: number;
}

const archivedName = /^iac-(\d{6,})\.jsonl/;

/**
 * The journal as one: archived segments by number, then the current file.
 * A segment gets no new name, but may still grow, by a record of somebody who
 * was stopped between opening the file and writing to it.
 */
export class JournalFiles {
  readonly path: string;
  /** Where segments are put. */
  readonly archive: string;
  #known: JournalFile[] = [];
  #turn = 0;

  /** @param path of the file that is written to */
  constructor(path: string) {
    this.path = path;
    this.archive = join(dirname(path), 'journal');
  }

  /** All files as they are now, the current one last, there or not. */
  list(): JournalFile[] {
    for (;;) {
      const before = stateOf(this.path);
      const archived = this.#archived();
      const current = stateOf(this.path);
      // Else it was archived meanwhile, and may have been missed.
      if ((before?.ino ?? 0) !== (current?.ino ?? 0)) continue;
      const files = [...archived, fileOf(this.path, current)];
      this.#known = placed(files);
      return this.#known;
    }
  }

  /**
   * The same for three looks at files at most: the current one, the newest
   * segment, and another one in turn.
   */
  look(): JournalFile[] {
    const last = this.#known.at(-1);
    const current = stateOf(this.path);
    if (!last || !current || current.ino !== last.inode) return this.list();
    const archived = this.#known.slice(0, -1);
    this.#turn = (this.#turn + 1) % Math.max(1, archived.length - 1);
    const looked = archived.length > 1 ? [archived[this.#turn]] : [];
    for (const file of [...looked, archived.at(-1)])
      if (file && stateOf(file.path)?.size !== file.size) return this.list();
    this.#known = [...archived, { ...last, size: current.size }];
    return this.#known;
  }

  /** Opens a file that was listed, also when it was archived since then. */
  async open(file: JournalFile): Promise<FileHandle | undefined> {
    const handle = await openRegularLater(file.path).catch(() => undefined);
    if (file.path !== this.path) return handle;
    if ((await handle?.stat())?.ino === file.inode) return handle;
    await handle?.close();
    const path = this.#pathNow(file);
    return path ? openRegularLater(path).catch(() => undefined) : undefined;
  }

  /** The same without waiting. */
  openNow(file: JournalFile): number | undefined {
    const descriptor = openIfThere(file.path);
    if (descriptor === undefined || file.path !== this.path)
      return descriptor ?? openIfThere(this.#pathNow(file));
    if (fstatSync(descriptor).ino === file.inode) return descriptor;
    closeSync(descriptor);
    return openIfThere(this.#pathNow(file));
  }

  /** Where a file lies that was archived after it was listed. */
  #pathNow({ inode }: JournalFile): string | undefined {
    return this.#archived().find((file) => file.inode === inode)?.path;
  }

  /** Above the number of every segment, whatever was made of it by hand. */
  nextNumber(): number {
    const numbers = namesIn(this.archive).map((name) =>
      Number(archivedName.exec(name)?.[1] ?? 0)
    );
    return Math.max(0, ...numbers) + 1;
  }

  /** Where the segment of a number lies. */
  segmentPath(number: number): string {
    return join(this.archive, `iac-${String(number).padStart(6, '0')}.jsonl`);
  }

  /** Without empty ones: a rotation that was cut short leaves one. */
  #archived(): JournalFile[] {
    return namesIn(this.archive)
      .filter((name) => archivedName.exec(name)?.[0] === name)
      .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
      .map((name) => {
        const path = join(this.archive, name);
        const file = fileOf(path, stateOf(path));
        return { ...file, name: join(basename(this.archive), name) };
      })
      .filter(({ size }) => size > 0);
  }
}

/** Bytes of the whole journal. */
export function totalSize(files: JournalFile[]): number {
  const last = files.at(-1);
  return last ? last.start + last.size : 0;
}

/**
 * Whether a place that was counted earlier still is the same one. A rotation
 * moves none; a late record in a segment moves all behind it.
 */
export function isSamePlace(files: JournalFile[], place: Place): boolean {
  return files.some(
    ({ start, size }) => start === place.base && place.offset <= start + size
  );
}

function placed(files: JournalFile[]): JournalFile[] {
  let start = 0;
  return files.map((file) => {
    const there = { ...file, start };
    start += file.size;
    return there;
  });
}

function fileOf(path: string, state: Stats | undefined): JournalFile {
  const { size = 0, ino = 0 } = state ?? {};
  return { path, name: basename(path), start: 0, size, inode: ino };
}

function stateOf(path: string): Stats | undefined {
  try {
    const state = statSync(path, { throwIfNoEntry: false });
    return state?.isFile() ? state : undefined;
  } catch (error) {
    // Something else lies in the place of the directory.
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function openIfThere(path: string | undefined): number | undefined {
  try {
    return path === undefined ? undefined : openRegular(path);
  } catch {
    return undefined;
  }
}
