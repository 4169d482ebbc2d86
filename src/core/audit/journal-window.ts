import type { Entry } from './entry.ts';
import type {
  FinishedRecord,
  JournalRecord,
  SpawnedRecord
} from './journal.ts';
import { blocksBack } from './journal-blocks.ts';
import {
  isSamePlace,
  type JournalFile,
  type JournalFiles,
  type Place
} from './journal-files.ts';
import { JournalReader } from './journal-reader.ts';
import { parseRecord } from './parse-record.ts';
import { type RecordPlace, recordAt } from './record-at.ts';

/** An agent. Of the newest ones alone the records are kept. */
export interface NumberedEntry {
  id: string;
  /** Place among all spawns of the journal, from 0. */
  ordinal: number;
  spawnedAt: RecordPlace;
  finishedAt?: RecordPlace;
  /** When its folder was removed, if it was. */
  cleanedAt?: string;
  known: Entry | undefined;
}

/** More than a view shows, and the archive file that it fills. */
const mostKnown = 400;

/** A place in the journal and how many spawns lie before it. */
export interface Bookmark extends Place {
  spawns: number;
}

/** `endOffset` is where the record ends in the journal. */
type OnRecord = (record: JournalRecord, endOffset: number) => void;

const spawnedMark = '"type":"spawned"';

/** Follows the journal and keeps its newest entries. */
export class JournalWindow {
  readonly #files: JournalFiles;
  readonly #onRecord: OnRecord;
  /** Ends before this place in the journal are no news. */
  readonly #newsFrom: number;
  readonly #reader: JournalReader;
  #next: number;
  /** Ordinal of the oldest spawn that is kept. */
  first: number;
  readonly entries = new Map<string, NumberedEntry>();
  /** Agents whose end is news; whoever has used it clears it. */
  readonly ended = new Set<string>();
  /** Those whose records are kept, oldest first. */
  readonly #known: NumberedEntry[] = [];

  private constructor(
    files: JournalFiles,
    reader: JournalReader,
    spawns: number,
    newsFrom: number,
    onRecord: OnRecord
  ) {
    this.#files = files;
    this.#onRecord = onRecord;
    this.#newsFrom = newsFrom;
    this.#reader = reader;
    this.#next = spawns;
    this.first = spawns;
  }

  /**
   * A window that begins early enough for the spawn numbered `ordinal` and
   * everything since `since`, read backwards from a bookmark, so that it costs
   * the same however long the journal is.
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
    const { offset, spawns } = start;
    const reader = new JournalReader(files, { list, offset });
    const window = new JournalWindow(
      files,
      reader,
      spawns,
      bookmark.offset,
      onRecord
    );
    await window.#read(list);
    return window;
  }

  /** A window on the whole journal; ends before `newsFrom` are no news. */
  static async openWhole(
    files: JournalFiles,
    list: JournalFile[],
    newsFrom: number,
    onRecord: OnRecord
  ): Promise<JournalWindow> {
    const reader = new JournalReader(files);
    const window = new JournalWindow(files, reader, 0, newsFrom, onRecord);
    await window.#read(list);
    return window;
  }

  /** Where this window has read to. */
  get position(): Bookmark {
    return { ...this.#reader.place, spawns: this.#next };
  }

  /**
   * Reads what is new. False when what was read stands there no more as it
   * was: the journal is another one, was cut, or has a late record in a
   * segment. Then nothing is read.
   */
  async update(list: JournalFile[]): Promise<boolean> {
    if (!isSamePlace(list, this.#reader.place)) return false;
    await this.#read(list);
    return true;
  }

  /**
   * An agent's records.
   * @throws Error when they are not in the journal any more
   */
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

  /** Drops entries below an ordinal. */
  forgetBefore(ordinal: number): void {
    for (const [id, entry] of this.entries)
      if (entry.ordinal < ordinal) this.entries.delete(id);
    this.first = Math.max(this.first, Math.min(ordinal, this.#next));
  }

  #read(list: JournalFile[]): Promise<void> {
    return this.#reader.read((line, endOffset, at) => {
      const record = parseRecord(line);
      if (!record) return;
      this.#onRecord(record, endOffset);
      const place = { ...at, bytes: Buffer.byteLength(line) };
      if (record.type === 'spawned') this.#begin(record, place);
      else if (record.type === 'finished') this.#end(record, endOffset, place);
      else if (record.type === 'cleaned') this.#clean(record);
    }, list);
  }

  #begin(spawned: SpawnedRecord, spawnedAt: RecordPlace): void {
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

  #end(finished: FinishedRecord, endOffset: number, place: RecordPlace): void {
    const { agent_id: id } = finished;
    const entry = this.entries.get(id);
    // Two processes may record one end; the first counts.
    if (entry?.finishedAt) return;
    if (entry) entry.finishedAt = place;
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
    // What follows the last newline was not whole when it was counted, unless
    // the file was not written to any more.
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

/** A list, for `flatMap`: empty for any other line, torn ones too. */
function spawnIn(line: string): JournalRecord[] {
  const record = line.includes(spawnedMark) ? parseRecord(line) : undefined;
  return record?.type === 'spawned' ? [record] : [];
}
