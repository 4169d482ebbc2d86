import { withAsking } from '../../answers/asks.ts';
import { secondsSince } from '../../answers/format-run.ts';
import { totalSize } from '../../core/audit/journal/journal-files.ts';
import type { OpenRuns, Run } from '../../core/runs/run.ts';
import type { Host } from '../../host/host.ts';
import { DaySum, type DayTotal } from './day-sum.ts';
import { listedWorkers } from './listed-workers.ts';
import {
  isWorker,
  type OutputState,
  outputState,
  quietOf,
  stdoutSize,
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
  /** Ids of agents that have ended, while their end is not recorded yet. */
  settling: string[];
}

interface Active {
  agent: WatchedAgent;
  /** When its output was read. */
  output: OutputState;
}

/** An agent that has written nothing for this time is looked at half as often. */
const silentMs = 10_000;

/** Reads the state of all agents of a workspace, from any server. */
export class Watcher {
  readonly #host: Host;
  readonly #limit: number;
  readonly #today: DaySum;
  /** Agents that have not ended, by id. */
  #active = new Map<string, Active>();
  /** Agents that have ended; they no longer change. */
  #ended = new Map<string, WatchedAgent>();
  /** How often `grown` was called. */
  #looks = 0;
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
    const standing = await host.tracker.standing();
    const active = await this.#activeNow(standing.active);
    const workers = listedWorkers(host, this.#limit).map(watchedWorker);
    const isLive = ({ isActive }: WatchedAgent) => isActive;
    const agents = [
      ...active,
      ...workers.filter(isLive),
      ...(await this.#endedLast(standing)),
      ...workers.filter((worker) => !isLive(worker))
    ];
    return {
      agents,
      isUnused: agents.length === 0 && host.recent(1).length === 0,
      today: await this.#today.read(),
      settling: standing.over.filter((id) => !host.store.hasOutcome(id))
    };
  }

  /**
   * Ids of the agents whose stdout has grown since they were read. Of those
   * that have been silent for long, each call looks at every other one. What
   * they write to stderr is seen by the next `read`.
   */
  grown(): string[] {
    this.#looks += 1;
    const silentSince = Date.now() - silentMs;
    return [...this.#active].flatMap(([id, { agent, output }], index) => {
      const isSilent = (agent.heardAt ?? Number.NaN) < silentSince;
      if (isSilent && (index + this.#looks) % 2 === 0) return [];
      return stdoutSize(this.#host, id) === output.stdout ? [] : [id];
    });
  }

  /** Reads one of the active agents again; undefined for others. */
  async readActive(id: string): Promise<WatchedAgent | undefined> {
    const known = this.#active.get(id);
    if (!known || isWorker(known.agent.of)) return undefined;
    return this.#readActive(known.agent.of);
  }

  async #activeNow(runs: readonly Run[]): Promise<WatchedAgent[]> {
    const before = this.#active;
    this.#active = new Map();
    return Promise.all(
      runs.map((found) => {
        const run = withAsking(found, this.#host);
        const known = before.get(run.record.agent_id);
        return this.#unchanged(run, known) ?? this.#readActive(run);
      })
    );
  }

  /** The agent as it was read before; undefined if it may have changed. */
  #unchanged(run: Run, known: Active | undefined): WatchedAgent | undefined {
    if (!known || known.agent.state !== run.status || run.status === 'asking')
      return undefined;
    const { record } = run;
    const output = outputState(this.#host, record.agent_id);
    if (output.sizes !== known.output.sizes) return undefined;
    const agent = {
      ...known.agent,
      ...quietOf(this.#host, run, output),
      seconds: secondsSince(record)
    };
    this.#active.set(record.agent_id, { agent, output });
    return agent;
  }

  async #readActive(run: Run): Promise<WatchedAgent> {
    const { agent_id: id } = run.record;
    // Before the output is read, so that later output counts as growth.
    const output = outputState(this.#host, id);
    const agent = await watchedRun(this.#host, run);
    this.#active.set(id, { agent, output });
    return agent;
  }

  async #endedLast({ active, over }: OpenRuns): Promise<WatchedAgent[]> {
    const { journal, store } = this.#host;
    const size = totalSize(journal.files.look());
    const open = active.map(({ record }) => record.agent_id);
    const ending = over.map((id) => `${id} ${store.hasOutcome(id)}`);
    const stamp = [size, ...open, ...ending].join(' ');
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
