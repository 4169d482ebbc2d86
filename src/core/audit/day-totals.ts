import { oneLine } from './entry.ts';
import type { FinishedRecord, JournalRecord } from './journal.ts';

interface Tally {
  label: string;
  createdAt: string;
  finished?: FinishedRecord;
}

/** Agents, time and cost per engine of the agents spawned on one day (UTC). */
export class DayTotals {
  #day = '';
  readonly #agents = new Map<string, Tally>();

  /** Turns to a day, as in an ISO time; what came before it is dropped. */
  turnTo(day: string): void {
    if (day === this.#day) return;
    this.#day = day;
    for (const [id, { createdAt }] of this.#agents)
      if (createdAt < day) this.#agents.delete(id);
  }

  /** Counts a record of the journal. Records may come again. */
  take(record: JournalRecord): void {
    const { agent_id: id } = record;
    if (record.type === 'spawned') {
      const { label, created_at: createdAt } = record;
      if (createdAt < this.#day || this.#agents.has(id)) return;
      this.#agents.set(id, { label, createdAt });
    } else if (record.type === 'finished') {
      const tally = this.#agents.get(id);
      if (tally) tally.finished ??= record;
    }
  }

  /** As a markdown table. */
  table(): string {
    const byLabel = new Map<string, Tally[]>();
    for (const tally of this.#agents.values()) {
      if (!tally.createdAt.startsWith(this.#day)) continue;
      const tallies = byLabel.get(tally.label);
      if (tallies) tallies.push(tally);
      else byLabel.set(tally.label, [tally]);
    }
    const rows = [...byLabel].map(([label, tallies]) => rowOf(label, tallies));
    return [
      '| Engine | Agents | Time | Cost |',
      '|--------|--------|------|------|',
      ...(rows.length > 0 ? rows : ['| - | 0 | - | - |'])
    ].join('\n');
  }
}

function rowOf(label: string, tallies: Tally[]): string {
  const ended = tallies.flatMap(({ finished }) => finished ?? []);
  const ms = ended.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  const costs = ended.map(({ cost_usd }) => cost_usd);
  return `| ${oneLine(label, 40)} | ${tallies.length} | ${(ms / 1000).toFixed(1)}s | ${costOf(costs)} |`;
}

function costOf(costs: (number | null)[]): string {
  const known = costs.filter((cost) => cost !== null);
  if (known.length === 0) return 'unknown';
  const sum = `$${known.reduce((total, cost) => total + cost, 0).toFixed(4)}`;
  const unknown = costs.length - known.length;
  return unknown === 0 ? sum : `${sum} + ${unknown} unknown`;
}
