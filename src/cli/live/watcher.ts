import { withAsking } from '../../answers/asks.ts';
import {
  type JournalFiles,
  totalSize
} from '../../core/audit/journal/journal-files.ts';
import type { JournalReader } from '../../core/audit/journal/journal-reader.ts';
import { parseRecord } from '../../core/audit/journal/journal-record.ts';
import type { Host } from '../../host/host.ts';
import { readBack } from '../output/journal-lines.ts';
import { counted, dollars } from '../output/text.ts';
import { listedWorkers } from '../output/worker-table.ts';
import {
  isWorker,
  type WatchedAgent,
  watchedRun,
  watchedWorker
} from './watched-agent.ts';

/** The state of a workspace at one moment. */
export interface Snapshot {
  /** Order: active agents, live workers, ended agents, ended workers. */
  agents: WatchedAgent[];
  /** Whether there are no agents at all, even beyond the limit. */
  isUnused: boolean;
  today: DayTotal;
}

/** Reads the state of all agents of a workspace, from any server. */
export class Watcher {
  readonly #host: Host;
  readonly #limit: number;
  readonly #today: DaySum;
  /** Agents that have ended; they no longer change. */
  #ended = new Map<string, WatchedAgent>();
  /** Changes when another agent has ended or was removed. */
  #stamp = '';

  /** @param limit the most ended agents, and the most ended workers */
  constructor(host: Host, limit: number) {
    this.#host = host;
    this.#limit = limit;
    this.#today = new DaySum(host.journal.files);
  }

  async read(): Promise<Snapshot> {
    const host = this.#host;
    const runs = await host.tracker.active();
    const active = await Promise.all(
      runs.map((run) => watchedRun(host, withAsking(run, host)))
    );
    const workers = listedWorkers(host, this.#limit).map(watchedWorker);
    const isLive = ({ isActive }: WatchedAgent) => isActive;
    const agents = [
      ...active,
      ...workers.filter(isLive),
      ...(await this.#endedLast()),
      ...workers.filter((worker) => !isLive(worker))
    ];
    return {
      agents,
      isUnused: agents.length === 0 && host.recent(1).length === 0,
      today: await this.#today.read()
    };
  }

  async #endedLast(): Promise<WatchedAgent[]> {
    const { journal, store } = this.#host;
    const size = totalSize(journal.files.look());
    const open = store
      .openIds()
      .map((id) => `${id}${store.hasOutcome(id) ? ' ended' : ''}`);
    const stamp = [size, ...open].join(' ');
    if (stamp === this.#stamp) return [...this.#ended.values()];
    const ended = new Map<string, WatchedAgent>();
    for (const id of this.#host.recent(this.#limit).reverse()) {
      const agent = this.#ended.get(id) ?? (await this.#endedOne(id));
      if (agent) ended.set(id, agent);
    }
    this.#ended = ended;
    this.#stamp = stamp;
    return [...ended.values()];
  }

  /** Undefined for an agent whose files are corrupt. */
  async #endedOne(id: string): Promise<WatchedAgent | undefined> {
    const run = await this.#host.tracker.run(id).catch(() => undefined);
    return run?.outcome && watchedRun(this.#host, run);
  }
}

/** The sums of the agents that ended on one day. */
interface DayTotal {
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

/** `3 running, 2 workers; today (UTC) 12 ended, 1 not completed, $0.31`. */
export function summaryOf({ agents, today }: Snapshot): string {
  const { ended, notCompleted } = today;
  const bad = notCompleted > 0 ? `, ${notCompleted} not completed` : '';
  const total = ended === 0 ? 'none ended' : `${ended} ended${bad}`;
  const cost = ended === 0 ? '' : `, cost ${costOf(today)}`;
  return `${countsOf(agents)}; today (UTC) ${total}${cost}`;
}

function costOf({ costUsd, costsUnknown }: DayTotal): string {
  if (costUsd === undefined) return 'unknown';
  const sum = dollars(costUsd);
  return costsUnknown === 0 ? sum : `${sum} + ${costsUnknown} unknown`;
}

/** `3 running, 1 queued, 2 workers`: the agents that have not ended. */
function countsOf(agents: WatchedAgent[]): string {
  const active = agents.filter(({ isActive }) => isActive);
  const runs = active.filter(({ of }) => !isWorker(of));
  const workers = active.length - runs.length;
  const queued = runs.filter(({ state }) => state === 'queued').length;
  const asking = runs.filter(({ state }) => state === 'asking').length;
  return [
    `${runs.length - queued} running`,
    ...(asking > 0 ? [`${asking} asking`] : []),
    ...(queued > 0 ? [`${queued} queued`] : []),
    ...(workers > 0 ? [counted(workers, 'worker')] : [])
  ].join(', ');
}
