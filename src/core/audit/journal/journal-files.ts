import { closeSync, fstatSync, readSync, type Stats, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { namesIn } from '../../state/files/directories.ts';
import {
  openRegular,
  openRegularAsync
} from '../../state/files/regular-file.ts';
import { parseRecord } from './journal-record.ts';

export interface JournalFile {
  path: string;
  /** The name in messages, relative to the record. */
  name: string;
  /** The offset in the journal at which the file begins, in bytes. */
  start: number;
  size: number;
  /** Identifies the file after a rename; 0 when it does not exist. */
  inode: number;
  /** Time of the last write, in milliseconds since 1970. */
  changedAt: number;
}

/** A position in the whole journal, in bytes. */
interface JournalPosition {
  offset: number;
  /** The start of the file that was current when the offset was determined. */
  base: number;
}

/** A position with a checksum of the preceding bytes. */
export interface MarkedPosition extends JournalPosition {
  mark: string;
}

/** Holds at least one whole record. */
const headBytes = 128 * 1024;

const archivedName = /^iac-(\d{6,})\.jsonl/;

/**
 * All files of the journal: archived segments by number, then the current
 * file. A segment is never renamed. It may still grow, when a process was
 * paused between opening the file and writing its record.
 */
export class JournalFiles {
  readonly path: string;
  /** The directory of the segments. */
  readonly archive: string;
  #known: JournalFile[] = [];
  #turn = 0;
  #marked = { key: '', mark: '' };
  #began: { file: string; size: number; at: string } | undefined;

  /** @param path the current file, to which records are appended */
  constructor(path: string) {
    this.path = path;
    this.archive = join(dirname(path), 'journal');
  }

  /** Lists all files. The current file is last, even if it does not exist. */
  list(): JournalFile[] {
    for (;;) {
      const before = stateOf(this.path);
      const archived = this.#archived();
      const current = stateOf(this.path);
      // After a concurrent rotation the list may lack the new segment.
      if ((before?.ino ?? 0) !== (current?.ino ?? 0)) continue;
      const files = [...archived, fileOf(this.path, current)];
      this.#known = withStarts(files);
      return this.#known;
    }
  }

  /**
   * Like `list`, usually with at most three stats: of the current file, of the
   * newest segment, and of one other segment, round-robin.
   */
  look(): JournalFile[] {
    const last = this.#known.at(-1);
    const current = stateOf(this.path);
    if (!last || !current || current.ino !== last.inode) return this.list();
    const archived = this.#known.slice(0, -1);
    this.#turn = (this.#turn + 1) % Math.max(1, archived.length - 1);
    const checked = archived.length > 1 ? [archived[this.#turn]] : [];
    for (const file of [...checked, archived.at(-1)])
      if (file && stateOf(file.path)?.size !== file.size) return this.list();
    this.#known = [...archived, fileOf(this.path, current, last.start)];
    return this.#known;
  }

  /** The ISO time of the oldest record; undefined without records. */
  beganAt(): string | undefined {
    const current = stateOf(this.path);
    // The birth time, because inodes of removed files are reused.
    const file = current ? `${current.ino} ${current.birthtimeMs}` : '';
    const size = current?.size ?? 0;
    const known = this.#began;
    if (known && known.file === file && size >= known.size) {
      known.size = size;
      return known.at;
    }
    const oldest = this.list().find((one) => one.size > 0);
    const at = oldest && this.#firstAt(oldest);
    this.#began = at === undefined ? undefined : { file, size, at };
    return at;
  }

  #firstAt(file: JournalFile): string | undefined {
    const descriptor = this.openNow(file);
    if (descriptor === undefined) return undefined;
    try {
      const head = Buffer.alloc(Math.min(file.size, headBytes));
      const count = readSync(descriptor, head, 0, head.length, 0);
      const lines = head.toString('utf8', 0, count).split('\n');
      for (const line of lines) {
        const record = parseRecord(line);
        if (record) return record.at;
      }
    } finally {
      closeSync(descriptor);
    }
    return undefined;
  }

  /** Whether the position is valid and the bytes before it are unchanged. */
  isAt(list: JournalFile[], position: MarkedPosition): boolean {
    return (
      isValidPosition(list, position) &&
      this.markAt(list, position.offset) === position.mark
    );
  }

  /** The mark of a position; undefined when its file cannot be read. */
  markAt(list: JournalFile[], offset: number): string | undefined {
    const file = list.findLast(({ start }) => start < offset) ?? list[0];
    if (!file || offset === 0) return noMark;
    const end = offset - file.start;
    const key = `${stampOf(file)} ${end}`;
    if (this.#marked.key === key) return this.#marked.mark;
    const descriptor = this.openNow(file);
    if (descriptor === undefined) return undefined;
    try {
      this.#marked = { key, mark: markBefore(descriptor, end) };
      return this.#marked.mark;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Opens a listed file, even if it was archived in the meantime. */
  async open(file: JournalFile): Promise<FileHandle | undefined> {
    const handle = await openRegularAsync(file.path).catch(() => undefined);
    if (file.path !== this.path) return handle;
    if ((await handle?.stat())?.ino === file.inode) return handle;
    await handle?.close();
    const path = this.#currentPathOf(file);
    return path ? openRegularAsync(path).catch(() => undefined) : undefined;
  }

  /** The synchronous version of `open`. */
  openNow(file: JournalFile): number | undefined {
    const descriptor = openIfThere(file.path);
    if (descriptor === undefined || file.path !== this.path)
      return descriptor ?? openIfThere(this.#currentPathOf(file));
    if (fstatSync(descriptor).ino === file.inode) return descriptor;
    closeSync(descriptor);
    return openIfThere(this.#currentPathOf(file));
  }

  /** The current path of a file that was archived after it was listed. */
  #currentPathOf({ inode }: JournalFile): string | undefined {
    return this.#archived().find((file) => file.inode === inode)?.path;
  }

  /** Higher than any number in use, including segments compressed by hand. */
  nextNumber(): number {
    const numbers = namesIn(this.archive).map((name) =>
      Number(archivedName.exec(name)?.[1] ?? 0)
    );
    return Math.max(0, ...numbers) + 1;
  }

  segmentPath(number: number): string {
    return join(this.archive, `iac-${String(number).padStart(6, '0')}.jsonl`);
  }

  /** Skips empty files, which an interrupted rotation leaves behind. */
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

/** The size of the whole journal in bytes. */
export function totalSize(files: JournalFile[]): number {
  const last = files.at(-1);
  return last ? last.start + last.size : 0;
}

/**
 * Whether an earlier position is still valid. A rotation keeps all positions; a
 * late record in a segment shifts the positions after it.
 */
export function isValidPosition(
  files: JournalFile[],
  position: JournalPosition
): boolean {
  return files.some(
    ({ start, size }) =>
      start === position.base && position.offset <= start + size
  );
}

/** A string that changes when a file is written or replaced. */
export function stampOf({ inode, changedAt, size }: JournalFile): string {
  return `${inode} ${changedAt} ${size}`;
}

/** The mark at the beginning of the journal. */
export const noMark = 'none';

function withStarts(files: JournalFile[]): JournalFile[] {
  let start = 0;
  return files.map((file) => {
    const placedFile = { ...file, start };
    start += file.size;
    return placedFile;
  });
}

function fileOf(
  path: string,
  state: Stats | undefined,
  start = 0
): JournalFile {
  const { size = 0, ino = 0, mtimeMs = 0 } = state ?? {};
  const name = basename(path);
  return { path, name, start, size, inode: ino, changedAt: mtimeMs };
}

function stateOf(path: string): Stats | undefined {
  try {
    const state = statSync(path, { throwIfNoEntry: false });
    return state?.isFile() ? state : undefined;
  } catch (error) {
    // The parent directory is not a directory.
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

const markBytes = 256;

/**
 * A checksum (FNV-1a) of up to 256 bytes before a position in a file. It
 * detects another file with the same name or inode.
 */
export function markBefore(descriptor: number, end: number): string {
  const start = Math.max(0, end - markBytes);
  const bytes = Buffer.alloc(end - start);
  const count = readSync(descriptor, bytes, 0, bytes.length, start);
  let hash = 0x811c9dc5;
  for (const byte of bytes.subarray(0, count))
    hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}
