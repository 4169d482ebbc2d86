import { join } from 'node:path';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import {
  type Journal,
  longErrorOf,
  spawnedEvent
} from '../../audit/journal/journal.ts';
import { totalSize } from '../../audit/journal/journal-files.ts';
import { blocksBack } from '../../audit/journal/journal-reader.ts';
import {
  type FinishedRecord,
  parseRecord
} from '../../audit/journal/journal-record.ts';
import { changesOf } from '../../changes/change-file.ts';
import { readIfExists } from '../../state/files/atomic-file.ts';
import { readSlice } from '../../state/files/text-file.ts';
import type { Outcome, RunRecord } from '../run.ts';
import { noteJournalled, ownFile, wasJournalled } from '../run-files.ts';
import type { RunStore } from '../run-store.ts';

/** A longer result is in the journal by reference only. */
const mostResultChars = 50_000;

/** What goes with a request to cancel a run. */
export interface CancelWords {
  reason?: string | undefined;
  /** The door of a person: `from the page`. */
  who?: string | undefined;
}

/** Journals the spawns, cancel requests and ends of runs. */
export class RunJournal {
  readonly #store: RunStore;
  readonly #journal: Journal;
  /** By agent id: the start of the journal that contains the agent's spawn. */
  readonly #journalledIn = new Map<string, string | undefined>();

  constructor(store: RunStore, journal: Journal) {
    this.#store = store;
    this.#journal = journal;
  }

  get path(): string {
    return this.#journal.path;
  }

  redact(text: string): string {
    return this.#journal.redact(text);
  }

  /** The name of a client, as records and answers have it. */
  nameOf(name: string): string {
    return this.#journal.nameOf(name);
  }

  /** @throws the system's error when the write fails */
  recordSpawn(record: RunRecord, prompt: string): void {
    this.#appendSpawn(record, prompt);
    noteJournalled(this.#store.directoryOf(record.agent_id));
  }

  recordCancel(agent_id: string, { reason, who }: CancelWords): void {
    const type = 'cancel_requested';
    const by = who === undefined ? {} : { who };
    this.#journal.append({ type, agent_id, reason: reason ?? null, ...by });
  }

  /**
   * Only the writer of the outcome may skip the check with `isEndRecorded`.
   * @param isOurs asked last: false if another process may have done it
   */
  async recordEnd(
    record: RunRecord,
    outcome: Outcome,
    isOurs = () => true
  ): Promise<void> {
    const event = await this.#finishedEvent(record, outcome);
    if (isOurs() || !(await this.isEndRecorded(record.agent_id)))
      this.#journal.append(event);
  }

  /**
   * Whether an agent's end is in the journal. The search goes backwards and
   * stops at the agent's spawn, because no end precedes it.
   */
  async isEndRecorded(agentId: string): Promise<boolean> {
    return (await this.#lastOf(agentId)) === 'finished';
  }

  /**
   * Appends the spawn of an agent if the journal lacks it: the server was
   * killed before the write, or the journal was removed or replaced.
   */
  async ensureSpawn(record: RunRecord): Promise<void> {
    const directory = this.#store.directoryOf(record.agent_id);
    if (!wasJournalled(directory) || (await this.#isSpawnLost(record)))
      this.#appendSpawn(record, this.#promptOf(record));
  }

  /** Appends the spawn of a running agent again after a loss of the journal. */
  async restoreSpawn(record: RunRecord): Promise<void> {
    const { agent_id: id } = record;
    const { files } = this.#journal;
    const began = files.beganAt();
    if (began !== undefined && this.#journalledIn.get(id) === began) return;
    if (await this.#isSpawnLost(record)) {
      // A spawn that was never journalled is not lost: it is still to come.
      if (!wasJournalled(this.#store.directoryOf(id))) return;
      this.#appendSpawn(record, this.#promptOf(record));
    }
    this.#journalledIn.set(id, files.beganAt());
  }

  forget(agentId: string): void {
    this.#journalledIn.delete(agentId);
  }

  #appendSpawn(record: RunRecord, prompt: string): void {
    const path = `spawns/${record.agent_id}/prompt.txt`;
    const text = this.#journal.textOf(prompt, path);
    this.#journal.append(spawnedEvent(record, text));
  }

  #promptOf({ agent_id: id }: RunRecord): string {
    return readIfExists(join(this.#store.directoryOf(id), 'prompt.txt')) ?? '';
  }

  async #isSpawnLost({
    agent_id: id,
    created_at
  }: RunRecord): Promise<boolean> {
    const began = this.#journal.files.beganAt();
    if (began !== undefined && began <= created_at) return false;
    return (await this.#lastOf(id)) === undefined;
  }

  /** The type of an agent's last record: its spawn or its end. */
  async #lastOf(agentId: string): Promise<'spawned' | 'finished' | undefined> {
    const { files } = this.#journal;
    const list = files.list();
    for (const { text } of blocksBack(files, list, totalSize(list))) {
      if (holds(text, 'finished', agentId)) return 'finished';
      if (holds(text, 'spawned', agentId)) return 'spawned';
      await yieldTurn();
    }
    return undefined;
  }

  async #finishedEvent(
    { agent_id }: RunRecord,
    outcome: Outcome
  ): Promise<FinishedRecord> {
    const { status, error, error_code, model, exit_code } = outcome;
    const { cost_usd, usage, duration_ms, completed_at } = outcome;
    const directory = this.#store.directoryOf(agent_id);
    const folder = `spawns/${agent_id}`;
    return {
      type: 'finished',
      agent_id,
      ...{ status, error, error_code, model, exit_code },
      ...longErrorOf(error, `${folder}/outcome.json`),
      ...{ cost_usd, usage, duration_ms, completed_at },
      ...filesOf(directory),
      result: await this.#resultOf(outcome, directory, folder)
    };
  }

  async #resultOf(
    { result_file: name, result_chars: chars, result_text: short }: Outcome,
    directory: string,
    folder: string
  ): Promise<FinishedRecord['result']> {
    const path = `${folder}/${name}`;
    if (chars > mostResultChars) return { chars, path };
    if (short !== undefined) return this.#journal.textOf(short, path);
    const file = ownFile(directory, name);
    const text =
      file === undefined
        ? ''
        : (await readSlice(file, 0, mostResultChars)).text;
    return this.#journal.textOf(text, path);
  }
}

function filesOf(directory: string) {
  const { files = [], total = 0 } = changesOf(directory) ?? {};
  return total === 0
    ? {}
    : { files_changed: files, files_changed_total: total };
}

/** Parses the lines with the mark, because a torn line is no record. */
function holds(text: string, type: string, agentId: string): boolean {
  const mark = `"type":"${type}","agent_id":"${agentId}"`;
  return (
    text.includes(mark) &&
    text
      .split('\n')
      .some((line) => line.includes(mark) && parseRecord(line) !== undefined)
  );
}
