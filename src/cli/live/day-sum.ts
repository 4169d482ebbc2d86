import { blocksBack } from '../../core/audit/journal-blocks.ts';
import {
  type JournalFiles,
  totalSize
} from '../../core/audit/journal-files.ts';
import { JournalReader } from '../../core/audit/journal-reader.ts';
import { parseRecord } from '../../core/audit/parse-record.ts';

/** What the agents that ended on one day come to. */
export interface DayTotal {
  /** `2026-11-22`, UTC as in IAC.md. */
  day: string;
  ended: number;
  /** Of these, how many not as `completed`. */
  notCompleted: number;
  /** US dollars; undefined when no cost is known. */
  costUsd: number | undefined;
  costsUnknown: number;
}

/** Today's total, read from the journal's end and followed from there. */
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
    this.#reader ??= this.#lookBack(day);
    await this.#reader.read((line) => this.#take(line));
    return this.#total;
  }

  /** Takes what there is of the day; gives who reads on from there. */
  #lookBack(day: string): JournalReader {
    const list = this.#files.list();
    let offset = totalSize(list);
    for (const block of blocksBack(this.#files, list, offset)) {
      const lines = block.text.split('\n');
      const isOpen = block.isLast && block.file.path === this.#files.path;
      // Without a newline yet: it is read when it is whole.
      const rest = isOpen ? (lines.pop() ?? '') : '';
      if (isOpen) offset -= Buffer.byteLength(rest);
      for (const line of lines) this.#take(line);
      const first = lines.find((line) => parseRecord(line) !== undefined);
      if (first && (parseRecord(first)?.at ?? '') < day) break;
    }
    return new JournalReader(this.#files, { list, offset });
  }

  #take(line: string): void {
    // Most lines are none, and they are long.
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
