import type { RunRecord } from './run.ts';

const most = 2000;

/** Records that were read, so that each is read once. */
export class RecordMemory {
  readonly #records = new Map<string, RunRecord>();

  get(agentId: string): RunRecord | undefined {
    return this.#records.get(agentId);
  }

  /** One comes, the oldest goes: dropped all at once, all would be read again. */
  keep(record: RunRecord): void {
    const [oldest] = this.#records.keys();
    if (this.#records.size >= most && oldest !== undefined)
      this.#records.delete(oldest);
    this.#records.set(record.agent_id, record);
  }

  forget(agentId: string): void {
    this.#records.delete(agentId);
  }
}
