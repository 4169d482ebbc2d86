import type {
  FinishedRecord,
  JournalRecord
} from '../journal/journal-record.ts';
import { markdownLine } from './entry.ts';

/** Totals of the agents of one engine that were spawned on one day. */
interface Tally {
  day: string;
  label: string;
  agents: number;
  durationMs: number;
  /** Undefined when no cost is known. */
  costUsd: number | undefined;
  costsUnknown: number;
}

/**
 * Two servers may record the same spawn, one of them after the agent's end.
 * This many ended agents are kept to detect such duplicates.
 */
const mostEnded = 1000;

/**
 * Counts agents, time and cost per engine for the agents spawned on one day
 * (UTC). Memory does not grow with the number of ended agents.
 */
export class DayTotals {
  #day = '';
  #countedTo = 0;
  readonly #tallies = new Map<string, Tally>();
  /** Agents that have not ended, by id. */
  readonly #open = new Map<string, Tally>();
  readonly #ended = new Set<string>();

  /** Selects a day (YYYY-MM-DD) and drops earlier days. */
  selectDay(day: string): void {
    if (day === this.#day) return;
    this.#day = day;
    for (const [key, tally] of this.#tallies)
      if (tally.day < day) this.#tallies.delete(key);
    for (const [id, tally] of this.#open)
      if (tally.day < day) this.#open.delete(id);
  }

  /**
   * Counts a record of the journal.
   * @param endOffset the end of the record in the journal; a record at or below
   *   the highest counted offset is ignored
   */
  take(record: JournalRecord, endOffset: number): void {
    if (endOffset <= this.#countedTo) return;
    this.#countedTo = endOffset;
    const { agent_id: id } = record;
    if (record.type === 'spawned') {
      const day = record.created_at.slice(0, 10);
      if (day < this.#day || this.#open.has(id) || this.#ended.has(id)) return;
      const tally = this.#tallyOf(day, record.label);
      tally.agents += 1;
      this.#open.set(id, tally);
    } else if (record.type === 'finished') {
      const tally = this.#open.get(id);
      if (!tally) return;
      add(record, tally);
      this.#open.delete(id);
      this.#ended.add(id);
      const [oldest] = this.#ended;
      if (this.#ended.size > mostEnded && oldest) this.#ended.delete(oldest);
    }
  }

  table(): string {
    const rows = [...this.#tallies.values()]
      .filter(({ day }) => day === this.#day)
      .map(rowOf);
    return [
      '| Engine | Agents | Time | Cost |',
      '|--------|--------|------|------|',
      ...(rows.length > 0 ? rows : ['| - | 0 | - | - |'])
    ].join('\n');
  }

  #tallyOf(day: string, label: string): Tally {
    const key = `${day} ${label}`;
    const known = this.#tallies.get(key);
    if (known) return known;
    const none = { agents: 0, durationMs: 0, costsUnknown: 0 };
    const tally: Tally = { day, label, ...none, costUsd: undefined };
    this.#tallies.set(key, tally);
    return tally;
  }
}

function add({ duration_ms, cost_usd }: FinishedRecord, tally: Tally): void {
  tally.durationMs += duration_ms;
  if (cost_usd === null) tally.costsUnknown += 1;
  else tally.costUsd = (tally.costUsd ?? 0) + cost_usd;
}

function rowOf(tally: Tally): string {
  const { label, agents, durationMs } = tally;
  return `| ${markdownLine(label, 40)} | ${agents} | ${(durationMs / 1000).toFixed(1)}s | ${costOf(tally)} |`;
}

function costOf({ agents, costUsd, costsUnknown }: Tally): string {
  if (costUsd === undefined) return 'unknown';
  const sum = `$${costUsd.toFixed(4)}`;
  return costsUnknown === 0
    ? sum
    : `${sum} (unknown for ${costsUnknown} of ${agents})`;
}
