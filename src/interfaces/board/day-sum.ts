import type { JournalFiles } from '../../core/audit/journal/journal-files.ts';
import {
  type JournalReader,
  readBack
} from '../../core/audit/journal/journal-reader.ts';
import { parseRecord } from '../../core/audit/journal/journal-record.ts';

/** The sums of the agents that ended on one day. */
export interface DayTotal {
  /** `2026-11-22`, UTC as in IAC.md. */
  day: string;
  ended: number;
  /** How many of them ended with another status than `completed`. */
  notCompleted: number;
  /** US dollars; undefined when no cost is known. */
  costUsd: number | undefined;
  costsUnknown: number;
}

/** Today's total: reads the journal backward once, then follows its end. */
export class DaySum {
  readonly #files: JournalFiles;
  readonly #now: () => Date;
  #reader: JournalReader | undefined;
  #total = emptyTotal('');

  constructor(files: JournalFiles, now = () => new Date()) {
    this.#files = files;
    this.#now = now;
  }

  async read(): Promise<DayTotal> {
    const day = this.#now().toISOString().slice(0, 10);
    if (day !== this.#total.day) this.#total = emptyTotal(day);
    this.#reader ??= this.#readBack(day);
    const isSame = await this.#reader.read((line) => this.#take(line));
    if (isSame) return this.#total;
    // The journal was replaced.
    this.#total = emptyTotal(day);
    this.#reader = this.#readBack(day);
    return this.#total;
  }

  /** Adds the ends of the day, and returns a reader of later records. */
  #readBack(day: string): JournalReader {
    return readBack(this.#files, (lines) => {
      for (const line of lines) this.#take(line);
      for (const line of lines) {
        const record = parseRecord(line);
        if (record) return record.at < day;
      }
      return false;
    });
  }

  #take(line: string): void {
    // Most lines are other records, too long to parse for nothing.
    if (!line.includes('"type":"finished"')) return;
    const record = parseRecord(line);
    if (record?.type !== 'finished') return;
    const { completed_at: at, cost_usd: cost, status } = record;
    const total = this.#total;
    if (at.slice(0, 10) !== total.day) return;
    total.ended += 1;
    if (status !== 'completed') total.notCompleted += 1;
    if (cost === null) total.costsUnknown += 1;
    else total.costUsd = (total.costUsd ?? 0) + cost;
  }
}

function emptyTotal(day: string): DayTotal {
  const none = { ended: 0, notCompleted: 0, costsUnknown: 0 };
  return { day, ...none, costUsd: undefined };
}
