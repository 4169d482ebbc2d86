import { totalSize } from '../../core/audit/journal-files.ts';
import type { Host } from '../../host.ts';
import { listedWorkers } from '../worker-table.ts';
import { DaySum, type DayTotal } from './day-sum.ts';
import {
  type WatchedAgent,
  watchedRun,
  watchedWorker
} from './watched-agent.ts';

/** A workspace at one moment. */
export interface Sight {
  /** At work first, then workers, then the last that ended, newest first. */
  agents: WatchedAgent[];
  /** No agent was ever here. Without --limit there may be none to show. */
  isUnused: boolean;
  today: DayTotal;
}

/** Looks at all agents of a workspace, whoever started them. */
export class Watcher {
  readonly #host: Host;
  readonly #limit: number;
  readonly #today: DaySum;
  /** Who has ended does not change any more. */
  #ended = new Map<string, WatchedAgent>();
  /** Changes when another one has ended, or was cleaned away. */
  #stamp = '';

  /** @param limit of the agents that have ended, and of such workers */
  constructor(host: Host, limit: number) {
    this.#host = host;
    this.#limit = limit;
    this.#today = new DaySum(host.journal.files);
  }

  async look(): Promise<Sight> {
    const host = this.#host;
    const runs = await host.tracker.active();
    const active = await Promise.all(runs.map((run) => watchedRun(host, run)));
    const workers = listedWorkers(host, this.#limit).map(watchedWorker);
    const isThere = ({ isActive }: WatchedAgent) => isActive;
    const agents = [
      ...active,
      ...workers.filter(isThere),
      ...(await this.#endedLast()),
      ...workers.filter((worker) => !isThere(worker))
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

  /** Undefined for one whose files somebody has spoilt. */
  async #endedOne(id: string): Promise<WatchedAgent | undefined> {
    const run = await this.#host.tracker.run(id).catch(() => undefined);
    return run?.outcome && watchedRun(this.#host, run);
  }
}
