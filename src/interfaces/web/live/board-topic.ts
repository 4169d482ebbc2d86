import { statSync } from 'node:fs';
import { totalSize } from '../../../core/audit/journal/journal-files.ts';
import type { Host } from '../../../host/host.ts';
import { describeDay } from '../../board/board-rows.ts';
import { isWorker } from '../../board/watched-agent.ts';
import { type Snapshot, Watcher } from '../../board/watcher.ts';
import { askRow, boardRow } from './board-rows.ts';
import { type Revisions, type Row, type RowChange, RowLog } from './row-log.ts';

/** The most ended agents on the board, and the most ended workers. */
const mostEnded = 100;

/** All agents, workers and asks of the workspace, and the sums of the day. */
export class BoardTopic {
  readonly #host: Host;
  readonly #watcher: Watcher;
  readonly #rows: RowLog;

  constructor(host: Host, revisions: Revisions) {
    this.#host = host;
    this.#watcher = new Watcher(host, mostEnded);
    this.#rows = new RowLog(revisions);
  }

  /** Reads everything again. */
  async refresh(): Promise<void> {
    const host = this.#host;
    const snapshot = await this.#watcher.read();
    const records = snapshot.agents.flatMap(({ of, isActive }) =>
      isActive && !isWorker(of) ? [of.record] : []
    );
    this.#rows.replace([
      this.#totals(snapshot),
      ...snapshot.agents.map((agent) => boardRow(host, agent)),
      ...this.#settling(snapshot),
      ...host.asks.open(records).map(askRow)
    ]);
  }

  /**
   * Reads the agents again whose output has grown.
   * @returns their ids
   */
  async follow(): Promise<string[]> {
    const ids = this.#watcher.grown();
    for (const id of ids) {
      const agent = await this.#watcher.readActive(id);
      if (agent) this.#rows.put(boardRow(this.#host, agent));
    }
    return ids;
  }

  /** The row of an agent; undefined if it is not on the board. */
  agent(id: string): Row | undefined {
    return this.#rows.find(`agent:${id}`);
  }

  since(rev: number): RowChange | undefined {
    return this.#rows.since(rev);
  }

  /** Agents keep their row until their end is recorded. */
  #settling({ settling }: Snapshot): Row[] {
    return settling.flatMap((id) => this.agent(id) ?? []);
  }

  /** `stamps` change with what other screens show. */
  #totals({ today, settling, isUnused }: Snapshot): Row {
    const { journal, councilStore } = this.#host;
    const council = statSync(councilStore.file.path, { throwIfNoEntry: false });
    return {
      id: 'totals',
      kind: 'totals',
      today: describeDay(today),
      settling: settling.length,
      is_unused: isUnused,
      stamps: {
        journal: totalSize(journal.files.look()),
        council: council ? `${council.mtimeMs} ${council.size}` : ''
      }
    };
  }
}
