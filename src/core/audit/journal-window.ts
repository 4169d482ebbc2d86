import { open } from 'node:fs/promises';
import { LineReader } from '../state/line-reader.ts';
import type { Entry } from './entry.ts';
import {
  type JournalRecord,
  journalSize,
  maximumRecordBytes
} from './journal.ts';

export interface NumberedEntry extends Entry {
  /** Place among all spawns of the journal, from 0. */
  ordinal: number;
}

/** A place in the journal and how many spawns lie before it. */
export interface Bookmark {
  offset: number;
  spawns: number;
}

const blockBytes = 1024 * 1024;
const spawnedMark = '"type":"spawned"';

/** Follows the journal and keeps its newest entries. */
export class JournalWindow {
  readonly #path: string;
  readonly #onRecord: (record: JournalRecord) => void;
  /** Ends before this place in the journal are no news. */
  readonly #newsFrom: number;
  #reader: LineReader;
  #next: number;
  /** Ordinal of the oldest spawn that is kept. */
  first: number;
  readonly entries = new Map<string, NumberedEntry>();
  /** Agents whose end is news; whoever has used it clears it. */
  readonly ended = new Set<string>();

  private constructor(
    path: string,
    start: Bookmark,
    newsFrom: number,
    onRecord: (record: JournalRecord) => void
  ) {
    this.#path = path;
    this.#onRecord = onRecord;
    this.#newsFrom = newsFrom;
    this.#reader = new LineReader(path, maximumRecordBytes, start.offset);
    this.#next = start.spawns;
    this.first = start.spawns;
  }

  /**
   * A window that begins early enough for the spawn numbered `ordinal` and
   * everything since `since`, read backwards from a bookmark, so that it costs
   * the same however long the journal is.
   */
  static async open(
    path: string,
    bookmark: Bookmark,
    ordinal: number,
    since: string,
    onRecord: (record: JournalRecord) => void
  ): Promise<JournalWindow> {
    const start = await backFrom(path, bookmark, ordinal, since);
    const { offset } = bookmark;
    const window = new JournalWindow(path, start, offset, onRecord);
    await window.update();
    return window;
  }

  /** A window on the whole journal; ends before `newsFrom` are no news. */
  static async openWhole(
    path: string,
    newsFrom: number,
    onRecord: (record: JournalRecord) => void
  ): Promise<JournalWindow> {
    const start = { offset: 0, spawns: 0 };
    const window = new JournalWindow(path, start, newsFrom, onRecord);
    await window.update();
    return window;
  }

  /** Where this window has read to. */
  get position(): Bookmark {
    return { offset: this.#reader.offset, spawns: this.#next };
  }

  /** True when the journal is another one, or was cut. */
  get isStale(): boolean {
    return journalSize(this.#path) < this.#reader.offset;
  }

  /** Reads what is new. */
  async update(): Promise<void> {
    await this.#reader.read((line, endOffset) => this.#take(line, endOffset));
  }

  /** Drops entries below an ordinal. */
  forgetBefore(ordinal: number): void {
    for (const [id, entry] of this.entries)
      if (entry.ordinal < ordinal) this.entries.delete(id);
    this.first = Math.max(this.first, Math.min(ordinal, this.#next));
  }

  #take(line: string, endOffset: number): void {
    const record = parseRecord(line);
    if (!record) return;
    this.#onRecord(record);
    if (record.type === 'spawned') {
      if (!this.entries.has(record.agent_id))
        this.entries.set(record.agent_id, {
          spawned: record,
          ordinal: this.#next
        });
      this.#next += 1;
    } else if (record.type === 'finished') {
      const entry = this.entries.get(record.agent_id);
      // Two processes may record one end; the first counts.
      if (entry?.finished) return;
      if (entry) entry.finished = record;
      if (endOffset > this.#newsFrom) this.ended.add(record.agent_id);
    }
  }
}

/** Undefined for what is no record: torn lines, or foreign ones. */
export function parseRecord(line: string): JournalRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    // Our own lines: `verify` tells whether they still are what we wrote.
    return 'type' in value && 'agent_id' in value
      ? (value as JournalRecord)
      : undefined;
  } catch {
    return undefined;
  }
}

async function backFrom(
  path: string,
  bookmark: Bookmark,
  ordinal: number,
  since: string
): Promise<Bookmark> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return { offset: 0, spawns: 0 };
  try {
    let { offset, spawns } = bookmark;
    while (offset > 0) {
      const from = Math.max(0, offset - blockBytes);
      const block = Buffer.alloc(offset - from);
      await file.read(block, 0, block.length, from);
      const cut = from === 0 ? 0 : block.indexOf(10) + 1;
      // What follows the last newline was not whole when it was counted.
      const lines = block.subarray(cut).toString('utf8').split('\n');
      const spawned = lines.slice(0, -1).flatMap(spawnIn);
      spawns -= spawned.length;
      offset = from + cut;
      const oldest = spawned[0]?.at;
      if (spawns <= ordinal && oldest !== undefined && oldest < since) break;
    }
    return { offset, spawns: offset === 0 ? 0 : Math.max(0, spawns) };
  } finally {
    await file.close();
  }
}

/** A list, for `flatMap`: empty for any other line, torn ones too. */
function spawnIn(line: string): JournalRecord[] {
  const record = line.includes(spawnedMark) ? parseRecord(line) : undefined;
  return record?.type === 'spawned' ? [record] : [];
}
