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
  #reader: LineReader;
  #next: number;
  readonly entries = new Map<string, NumberedEntry>();
  /** Agents that ended though their spawn lies before this window. */
  readonly strays = new Set<string>();

  private constructor(path: string, start: Bookmark) {
    this.#path = path;
    this.#reader = new LineReader(path, maximumRecordBytes, start.offset);
    this.#next = start.spawns;
  }

  /**
   * A window that begins early enough for `minimum` entries and everything
   * since `since`, read backwards from a bookmark, so that it costs the same
   * however long the journal is. Without bookmark it reads the whole.
   */
  static async open(
    path: string,
    bookmark: Bookmark | undefined,
    minimum: number,
    since: string
  ): Promise<JournalWindow> {
    const usable = bookmark && bookmark.offset <= journalSize(path);
    const start = usable
      ? await backFrom(path, bookmark, minimum, since)
      : { offset: 0, spawns: 0 };
    return new JournalWindow(path, start);
  }

  /** Where this window has read to. */
  get position(): Bookmark {
    return { offset: this.#reader.offset, spawns: this.#next };
  }

  /** True when the journal holds more than was read. */
  get behind(): boolean {
    return journalSize(this.#path) !== this.#reader.offset;
  }

  /** Reads what is new. */
  async update(): Promise<void> {
    if (journalSize(this.#path) < this.#reader.offset) {
      this.#reader = new LineReader(this.#path, maximumRecordBytes);
      this.#next = 0;
      this.entries.clear();
    }
    await this.#reader.read((line) => this.#take(line));
  }

  /** Drops entries below an ordinal, as far as all before it are finished. */
  forgetBefore(ordinal: number): void {
    for (const entry of this.entries.values())
      if (!entry.finished && entry.ordinal < ordinal) return;
    for (const [id, entry] of this.entries)
      if (entry.ordinal < ordinal) this.entries.delete(id);
  }

  #take(line: string): void {
    const record = parseRecord(line);
    if (record?.type === 'spawned') {
      if (!this.entries.has(record.agent_id))
        this.entries.set(record.agent_id, {
          spawned: record,
          ordinal: this.#next
        });
      this.#next += 1;
    } else if (record?.type === 'finished') {
      const entry = this.entries.get(record.agent_id);
      if (!entry) this.strays.add(record.agent_id);
      // Two processes may record one end; the first counts.
      else entry.finished ??= record;
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
  minimum: number,
  since: string
): Promise<Bookmark> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return { offset: 0, spawns: 0 };
  try {
    let { offset, spawns } = bookmark;
    let found = 0;
    while (offset > 0) {
      const from = Math.max(0, offset - blockBytes);
      const block = Buffer.alloc(offset - from);
      await file.read(block, 0, block.length, from);
      const cut = from === 0 ? 0 : block.indexOf(10) + 1;
      const lines = block.subarray(cut).toString('utf8').split('\n');
      const spawned = lines.filter((line) => line.includes(spawnedMark));
      found += spawned.length;
      spawns -= spawned.length;
      offset = from + cut;
      const first = parseRecord(spawned[0] ?? '')?.at ?? '';
      if (found >= minimum && first !== '' && first < since) break;
    }
    return { offset, spawns: offset === 0 ? 0 : Math.max(0, spawns) };
  } finally {
    await file.close();
  }
}
