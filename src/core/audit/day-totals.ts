import { oneLine } from './entry.ts';
import type { FinishedRecord, JournalRecord } from './journal.ts';

/** What the agents of one engine, spawned on one day, come to. */
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
 * Two servers may record one spawn, the slower one after its end: so many
 * ended agents are known again.
 */
const mostEnded = 1000;

/**
 * Agents, time and cost per engine of the agents spawned on one day (UTC).
 * What is kept does not grow with the agents that have ended.
 */
export class DayTotals {
  #day = '';
  #countedTo = 0;
  readonly #tallies = new Map<string, Tally>();
  /** Agents whose end has not been seen. */
  readonly #open = new Map<string, Tally>();
  readonly #ended = new Set<string>();

  /** Turns to a day, as in an ISO time; what came before it is dropped. */
  turnTo(day: string): void {
    if (day === this.#day) return;
    this.#day = day;
    for (const [key, tally] of this.#tallies)
      if (tally.day < day) this.#tallies.delete(key);
    for (const [id, tally] of this.#open)
      if (tally.day < day) this.#open.delete(id);
  }

  /**
   * Counts a record of the journal.
   * @param endOffset where it ends there: what was counted before, is not
   *   counted again
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

  /** As a markdown table. */
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
  return `| ${oneLine(label, 40)} | ${agents} | ${(durationMs / 1000).toFixed(1)}s | ${costOf(tally)} |`;
}

function costOf({ costUsd, costsUnknown }: Tally): string {
  if (costUsd === undefined) return 'unknown';
  const sum = `$${costUsd.toFixed(4)}`;
  return costsUnknown === 0 ? sum : `${sum} + ${costsUnknown} unknown`;
}
