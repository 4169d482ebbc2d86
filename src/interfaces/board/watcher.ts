import { withAsking } from '../../answers/asks.ts';
import { totalSize } from '../../core/audit/journal/journal-files.ts';
import type { Host } from '../../host/host.ts';
import { DaySum, type DayTotal } from './day-sum.ts';
import { listedWorkers } from './listed-workers.ts';
import {
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
