import {
  isValidPosition,
  type JournalFile,
  type JournalFiles,
  type MarkedPosition
} from '../journal/journal-files.ts';
import {
  blocksBack,
  JournalReader,
  type RecordLocation,
  recordAt
} from '../journal/journal-reader.ts';
import {
  type FinishedRecord,
  type JournalRecord,
  parseRecord,
  type SpawnedRecord
} from '../journal/journal-record.ts';
import type { Entry } from './entry.ts';

/** An agent's entry. Only the newest entries keep their records in memory. */
export interface NumberedEntry {
  id: string;
  /** The index among all spawns of the journal. */
  ordinal: number;
  spawnedAt: RecordLocation;
  finishedAt?: RecordLocation;
  /** When the agent's folder was removed, if it was. */
  cleanedAt?: string;
  known: Entry | undefined;
}

/** The number of entries with records in memory. */
const mostKnown = 400;

/** A position in the journal, and the number of spawns before it. */
export interface Bookmark extends MarkedPosition {
  spawns: number;
}

/** @param endOffset the end of the record in the journal, in bytes */
export type OnRecord = (record: JournalRecord, endOffset: number) => void;

const spawnedMark = '"type":"spawned"';

/** Tails the journal and keeps its newest entries. */
export class JournalWindow {
  readonly #files: JournalFiles;
  readonly #onRecord: OnRecord;
  /** Ends of agents after this offset count as new. */
  readonly #newsFrom: number;
  readonly #reader: JournalReader;
  #next: number;
  /** The ordinal of the oldest entry. */
  first: number;
  readonly entries = new Map<string, NumberedEntry>();
  /** Agents with a new end; the caller clears it. */
  readonly ended = new Set<string>();
  /** Entries with their records, oldest first. */
  readonly #known: NumberedEntry[] = [];

  private constructor(
    files: JournalFiles,
    onRecord: OnRecord,
    newsFrom: number,
    from: { list: JournalFile[]; offset: number; spawns: number }
  ) {
    this.#files = files;
    this.#onRecord = onRecord;
    this.#newsFrom = newsFrom;
    this.#reader = new JournalReader(files, from);
    this.#next = from.spawns;
    this.first = from.spawns;
  }

  /**
   * Opens a window that begins no later than the spawn `ordinal` and the ISO
   * time `since`. The start is searched backwards from a bookmark, so the cost does
   * not depend on the size of the journal.
   */
  static async open(
    files: JournalFiles,
    list: JournalFile[],
    bookmark: Bookmark,
    ordinal: number,
    since: string,
    onRecord: OnRecord
  ): Promise<JournalWindow> {
    const start = backFrom(files, list, bookmark, ordinal, since);
    const from = { list, ...start };
    const window = new JournalWindow(files, onRecord, bookmark.offset, from);
    await window.#read(list);
    return window;
  }

  /** Opens a window on the whole journal; ends after `newsFrom` are new. */
  static async openWhole(
    files: JournalFiles,
    list: JournalFile[],
    newsFrom: number,
    onRecord: OnRecord
  ): Promise<JournalWindow> {
    const from = { list: [], offset: 0, spawns: 0 };
    const window = new JournalWindow(files, onRecord, newsFrom, from);
    await window.#read(list);
    return window;
  }

  /** The position where reading stopped. */
  get position(): Bookmark {
    return { ...this.#reader.position, spawns: this.#next };
  }

  /** Whether the window has read exactly up to this position. */
  hasRead({ offset, mark }: MarkedPosition): boolean {
    const { position } = this.#reader;
    return position.offset === offset && position.mark === mark;
  }

  /** Like `hasRead`, and the current file is unchanged since then. */
  isAt(list: JournalFile[], position: MarkedPosition): boolean {
    return this.hasRead(position) && this.#reader.isUnchanged(list);
  }

  /**
   * Reads new records. False when earlier ones have changed: the journal was
   * replaced or truncated, or a segment has a late record.
   */
  async update(list: JournalFile[]): Promise<boolean> {
    return isValidPosition(list, this.#reader.position) && this.#read(list);
  }

  /** @throws Error when the records are no longer in the journal */
  recordsOf(entry: NumberedEntry): Entry {
    const { known, spawnedAt, finishedAt, cleanedAt } = entry;
    const cleaned = cleanedAt === undefined ? {} : { cleanedAt };
    if (known) return { ...known, ...cleaned };
    const spawned = recordAt(this.#files, spawnedAt);
    const finished = finishedAt && recordAt(this.#files, finishedAt);
    if (spawned.type !== 'spawned')
      throw new Error(`${spawnedAt.file.path} was changed while it was read.`);
    return finished?.type === 'finished'
      ? { spawned, finished, ...cleaned }
      : { spawned, ...cleaned };
  }

  forgetBefore(ordinal: number): void {
    for (const [id, entry] of this.entries)
      if (entry.ordinal < ordinal) this.entries.delete(id);
    this.first = Math.max(this.first, Math.min(ordinal, this.#next));
  }

  #read(list: JournalFile[]): Promise<boolean> {
    return this.#reader.read((line, endOffset, at) => {
      const record = parseRecord(line);
      if (!record) return;
      this.#onRecord(record, endOffset);
      const position = { ...at, bytes: Buffer.byteLength(line) };
      if (record.type === 'spawned') this.#begin(record, position);
      else if (record.type === 'finished')
        this.#end(record, endOffset, position);
      else if (record.type === 'cleaned') this.#clean(record);
    }, list);
  }

  #begin(spawned: SpawnedRecord, spawnedAt: RecordLocation): void {
    const { agent_id: id } = spawned;
    const ordinal = this.#next;
    this.#next += 1;
    if (this.entries.has(id)) return;
    const entry = { id, ordinal, spawnedAt, known: { spawned } };
    this.entries.set(id, entry);
    this.#known.push(entry);
    const oldest = this.#known.length > mostKnown && this.#known.shift();
    if (oldest) oldest.known = undefined;
  }

  #clean({ agent_id: id, at }: { agent_id: string; at: string }): void {
    const entry = this.entries.get(id);
    if (entry) entry.cleanedAt = at;
  }

  #end(
    finished: FinishedRecord,
    endOffset: number,
    position: RecordLocation
  ): void {
    const { agent_id: id } = finished;
    const entry = this.entries.get(id);
    // Two processes may record the same end; the first record counts.
    if (entry?.finishedAt) return;
    if (entry) entry.finishedAt = position;
    if (entry?.known) entry.known.finished = finished;
    if (endOffset > this.#newsFrom) this.ended.add(id);
  }
}

function backFrom(
  files: JournalFiles,
  list: JournalFile[],
  bookmark: Bookmark,
  ordinal: number,
  since: string
): { offset: number; spawns: number } {
  let { offset, spawns } = bookmark;
  for (const block of blocksBack(files, list, offset)) {
    const lines = block.text.split('\n');
    // A last line without newline is not part of the bookmark, unless its file
    // was a segment at that time.
    if (block.isLast && block.file.start >= bookmark.base) lines.pop();
    const spawned = lines.flatMap(spawnIn);
    spawns -= spawned.length;
    offset = block.start;
    const oldest = spawned[0]?.at;
    if (spawns <= ordinal && oldest !== undefined && oldest < since)
      return { offset, spawns: offset === 0 ? 0 : Math.max(0, spawns) };
  }
  return { offset: 0, spawns: 0 };
}

/** For `flatMap`: the spawn in a line, or an empty array. */
function spawnIn(line: string): JournalRecord[] {
  const record = line.includes(spawnedMark) ? parseRecord(line) : undefined;
  return record?.type === 'spawned' ? [record] : [];
}
