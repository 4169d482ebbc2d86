import { LineReader } from '../state/line-reader.ts';
import { maximumRecordBytes } from './journal.ts';
import type { JournalFile, JournalFiles, Place } from './journal-files.ts';
import { holdsRecord } from './parse-record.ts';

/** Told where the line ends: in the journal, and in its file. */
type OnLine = (
  line: string,
  endOffset: number,
  at: { file: JournalFile; end: number }
) => void;

/**
 * Reads complete lines of the growing journal, over rotations: every line
 * once, also one that is written to a segment late.
 */
export class JournalReader {
  readonly #files: JournalFiles;
  readonly #segments = new Map<string, LineReader>();
  #current: LineReader;
  /** Of the file that `#current` reads; 0 when there was none yet. */
  #inode = 0;

  /** @param from where to begin: a place in the journal as it was listed */
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

  /** Where it has read to, if nothing was added to segments before that. */
  get place(): Place {
    let base = 0;
    for (const { offset } of this.#segments.values()) base += offset;
    return { offset: base + this.#current.offset, base };
  }

  /** Hands over what is new. */
  async read(onLine: OnLine, list = this.#files.list()): Promise<void> {
    for (const file of list) {
      const isCurrent = file.path === this.#files.path;
      const wasCurrent = !isCurrent && this.#turnToSegment(file);
      const reader = isCurrent ? this.#current : this.#segmentOf(file);
      if (isCurrent && file.inode !== 0) this.#inode = file.inode;
      if (!wasCurrent && file.size <= reader.offset) continue;
      const handle = await this.#files.open(file);
      if (!handle) continue;
      const take = (line: string, end: number) =>
        onLine(line, file.start + end, { file, end });
      try {
        await reader.readFrom(handle, take);
      } finally {
        await handle.close();
      }
      // Nobody will end its last line, unless it is being written just now.
      if (!isCurrent) reader.takeRest(take, holdsRecord);
    }
  }

  /** True when a segment that is new here is the file that was current. */
  #turnToSegment({ name, inode }: JournalFile): boolean {
    if (this.#segments.has(name) || inode !== this.#inode) return false;
    this.#segments.set(name, this.#current);
    this.#current = this.#newReader(0);
    this.#inode = 0;
    return true;
  }

  #segmentOf({ name }: JournalFile): LineReader {
    const reader = this.#segments.get(name) ?? this.#newReader(0);
    this.#segments.set(name, reader);
    return reader;
  }

  #newReader(offset: number): LineReader {
    return new LineReader(this.#files.path, maximumRecordBytes, offset);
  }
}
