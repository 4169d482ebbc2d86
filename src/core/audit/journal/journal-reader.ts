import { closeSync, readSync } from 'node:fs';
import { LineReader } from '../../state/files/line-reader.ts';
import {
  type JournalFile,
  type JournalFiles,
  type MarkedPosition,
  markBefore,
  noMark,
  stampOf,
  totalSize
} from './journal-files.ts';
import {
  holdsRecord,
  type JournalRecord,
  maximumRecordBytes,
  parseRecord
} from './journal-record.ts';

/** Receives each line with the offsets of its end, in the journal and file. */
type OnLine = (
  line: string,
  endOffset: number,
  at: { file: JournalFile; end: number }
) => void;

/** The state of reading one file of the journal. */
interface FileReader {
  lines: LineReader;
  /** The mark where reading stopped; undefined before the first read. */
  mark?: string;
  /** The stamp of the file at the last read. */
  stamp?: string;
}

/**
 * Reads complete lines of the growing journal across rotations. It passes on
 * each line once, including late lines in segments.
 */
export class JournalReader {
  readonly #files: JournalFiles;
  readonly #segments = new Map<string, FileReader>();
  #current: FileReader;
  /** The inode of the file that `#current` reads; 0 if there is none yet. */
  #inode = 0;

  /** @param from where to begin: an offset in the journal, and its files */
  constructor(
    files: JournalFiles,
    from: { list: JournalFile[]; offset: number } = { list: [], offset: 0 }
  ) {
    this.#files = files;
    this.#current = this.#newReader(0);
    for (const { path, name, start, size, inode } of from.list) {
      const before = Math.min(size, Math.max(0, from.offset - start));
      const reader = this.#newReader(before);
      if (path !== files.path) this.#segments.set(name, reader);
      else {
        this.#current = reader;
        this.#inode = inode;
      }
    }
  }

  /** The position where reading stopped; stale once a segment has grown. */
  get position(): MarkedPosition {
    let base = 0;
    for (const { lines } of this.#segments.values()) base += lines.offset;
    const offset = base + this.#current.lines.offset;
    return { offset, base, mark: this.#lastRead()?.mark ?? noMark };
  }

  /** Whether the current file is unchanged since it was read. */
  isUnchanged(list: JournalFile[]): boolean {
    const file = list.at(-1);
    return file !== undefined && this.#current.stamp === stampOf(file);
  }

  /**
   * Passes on the new lines. False when a file was replaced or truncated; the
   * caller must then start with a new reader.
   */
  async read(onLine: OnLine, list = this.#files.list()): Promise<boolean> {
    for (const file of list) {
      const isCurrent = file.path === this.#files.path;
      const wasCurrent = !isCurrent && this.#moveToSegments(file);
      const reader = isCurrent ? this.#current : this.#segmentOf(file);
      if (isCurrent && file.inode !== 0) this.#inode = file.inode;
      if (file.size < reader.lines.offset) return false;
      if (!wasCurrent && !hasChanged(file, reader)) continue;
      if (!(await this.#readFile(file, reader, onLine, !isCurrent)))
        return false;
    }
    const last = this.#lastRead();
    const mark = last?.mark ?? this.#files.markAt(list, this.position.offset);
    if (last && mark !== undefined) last.mark = mark;
    return true;
  }

  async #readFile(
    file: JournalFile,
    reader: FileReader,
    onLine: OnLine,
    isSegment: boolean
  ): Promise<boolean> {
    const handle = await this.#files.open(file);
    if (!handle) return true;
    const { lines, mark } = reader;
    const take = (line: string, end: number) =>
      onLine(line, file.start + end, { file, end });
    try {
      if (mark !== undefined && markBefore(handle.fd, lines.offset) !== mark)
        return false;
      await lines.readFrom(handle, take);
      reader.mark = markBefore(handle.fd, lines.offset);
      reader.stamp = stampOf(file);
    } finally {
      await handle.close();
    }
    // The last line of a segment may lack a newline. A torn line is skipped.
    if (isSegment) lines.takeRest(take, holdsRecord);
    return true;
  }

  /** The reader of the file at `position`; undefined before the first line. */
  #lastRead(): FileReader | undefined {
    if (this.#current.lines.offset > 0) return this.#current;
    return [...this.#segments.values()].findLast(
      ({ lines }) => lines.offset > 0
    );
  }

  /** Reassigns the current reader if its file has become this segment. */
  #moveToSegments({ name, inode }: JournalFile): boolean {
    if (this.#segments.has(name) || inode !== this.#inode) return false;
    this.#segments.set(name, this.#current);
    this.#current = this.#newReader(0);
    this.#inode = 0;
    return true;
  }

  #segmentOf({ name }: JournalFile): FileReader {
    const reader = this.#segments.get(name) ?? this.#newReader(0);
    this.#segments.set(name, reader);
    return reader;
  }

  #newReader(offset: number): FileReader {
    return {
      lines: new LineReader(this.#files.path, maximumRecordBytes, offset)
    };
  }
}

/** Whether a file has grown or may have been replaced. */
function hasChanged(file: JournalFile, { lines, stamp }: FileReader): boolean {
  if (file.size > lines.offset) return true;
  return stamp !== undefined && stamp !== stampOf(file);
}

/** Consecutive lines of one file of the journal. */
interface Block {
  /** The last line may have no newline, and may be torn. */
  text: string;
  /** The offset of the block in the journal, in bytes. */
  start: number;
  file: JournalFile;
  /** True for the block at the end of its file, which comes first. */
  isLast: boolean;
}

/** The first block is small, because most callers need few records. */
const firstBytes = 32 * 1024;
const mostBytes = 256 * 1024;

/**
 * Reads the journal backwards from an offset, block by block. The cost of the
 * newest records does not depend on the size of the journal.
 */
export function* blocksBack(
  files: JournalFiles,
  list: JournalFile[],
  from: number
): Generator<Block> {
  for (const file of [...list].reverse()) {
    const end = Math.min(file.size, from - file.start);
    const descriptor = end > 0 ? files.openNow(file) : undefined;
    if (descriptor === undefined) continue;
    try {
      for (const block of blocksOf(descriptor, end))
        yield { ...block, start: file.start + block.start, file };
    } finally {
      closeSync(descriptor);
    }
  }
}

function* blocksOf(
  descriptor: number,
  size: number
): Generator<Omit<Block, 'file'>> {
  let bytes = firstBytes;
  let end = size;
  while (end > 0) {
    const from = Math.max(0, end - bytes);
    const block = Buffer.alloc(end - from);
    const count = readSync(descriptor, block, 0, block.length, from);
    const cut = from === 0 ? 0 : block.indexOf(10) + 1;
    // A first block without a whole line is read again with the larger size.
    // A line above that size is not a record and is skipped.
    const isPart = from > 0 && (cut === 0 || cut === block.length);
    const isLast = end === size;
    if (!isPart || bytes > firstBytes) end = isPart ? from : from + cut;
    bytes = mostBytes;
    if (!isPart)
      yield { text: block.toString('utf8', cut, count), start: end, isLast };
  }
}

/**
 * Reads the journal from its end to its beginning until `take` returns true.
 * @param take gets the whole lines of one block, oldest first
 * @returns a reader of what is appended later
 */
export function readBack(
  files: JournalFiles,
  take: (lines: string[]) => boolean
): JournalReader {
  const list = files.list();
  let offset = totalSize(list);
  for (const block of blocksBack(files, list, offset)) {
    const lines = block.text.split('\n');
    // A last line without a newline is read again when it is whole.
    if (block.isLast && block.file.path === files.path)
      offset -= Buffer.byteLength(lines.pop() ?? '');
    if (take(lines)) break;
  }
  return new JournalReader(files, { list, offset });
}

/** The location of a record, to read it again instead of keeping it. */
export interface RecordLocation {
  file: JournalFile;
  /** The offset of the record's end in the file. */
  end: number;
  bytes: number;
}

/** @throws Error when the record is no longer at its location */
export function recordAt(
  files: JournalFiles,
  { file, end, bytes }: RecordLocation
): JournalRecord {
  const descriptor = files.openNow(file);
  if (descriptor !== undefined)
    try {
      // `bytes` is wrong for invalid UTF-8, which is longer after decoding.
      for (const length of [bytes + 1, maximumRecordBytes]) {
        const record = parseRecord(lastLine(descriptor, end, length));
        if (record) return record;
      }
    } finally {
      closeSync(descriptor);
    }
  throw new Error(`${file.path} was changed while it was read.`);
}

/** The last line that ends before or at an offset. */
function lastLine(descriptor: number, end: number, bytes: number): string {
  const start = Math.max(0, end - bytes);
  const block = Buffer.alloc(end - start);
  const count = readSync(descriptor, block, 0, block.length, start);
  const text = block.toString('utf8', 0, count).trimEnd();
  return text.slice(text.lastIndexOf('\n') + 1);
}
