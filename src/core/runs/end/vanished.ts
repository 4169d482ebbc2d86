import { lstatSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { OwnRuns, Processes } from '../ports.ts';
import type { Outcome, RunRecord } from '../run.ts';
import type { RunEvents } from '../run-events.ts';
import type { RunStore } from '../run-store.ts';
import { chatDirectory } from '../sessions/create-chat.ts';
import { outcomeOfRefused } from './outcome.ts';
import type { RunJournal } from './run-journal.ts';

interface VanishedDependencies {
  store: RunStore;
  processes: Processes;
  journal: RunJournal;
  events: RunEvents;
  starter: OwnRuns;
  /** Called with one sentence about all agents that were lost together. */
  onLost: (message: string) => void;
  onProblem: (problem: unknown) => void;
}

/** The removal of a whole record takes time and is reported as one loss. */
const removalMs = 200;

/**
 * Ends agents of this server whose folder in the record is gone. Their output
 * is lost, and no other server knows that they run.
 */
export class Vanished {
  readonly #with: VanishedDependencies;
  #ending: Promise<void> | undefined;

  constructor(dependencies: VanishedDependencies) {
    this.#with = dependencies;
  }

  /** Resolves once all agents without a folder have ended. Never rejects. */
  attend(): Promise<void> {
    this.#ending ??= this.#endVanished().finally(() => {
      this.#ending = undefined;
    });
    return this.#ending;
  }

  async #endVanished(): Promise<void> {
    try {
      if (!this.#isAnyGone()) return;
      await delay(removalMs);
      await this.#endAll();
    } catch (problem) {
      this.#with.onProblem(problem);
    }
  }

  async #endAll(): Promise<void> {
    const { store, starter, onLost } = this.#with;
    const gone = starter.own().filter((record) => this.#isGone(record));
    const ended = await Promise.all(gone.map((record) => this.#end(record)));
    const lost = gone.filter((_, index) => ended[index]);
    if (lost.length > 0) onLost(sentence(store.root, lost));
  }

  #isAnyGone(): boolean {
    return this.#with.starter.own().some((record) => this.#isGone(record));
  }

  #isGone({ agent_id: id }: RunRecord): boolean {
    const { store } = this.#with;
    return (
      store.lost.messageOf(id) === undefined &&
      isMissing(store.directoryOf(id)) &&
      // A cleaned agent has ended, even if this server has not noticed yet.
      store.sizes.goneAt(id) === undefined
    );
  }

  /** Returns false when a process survives; the next call tries again. */
  async #end(record: RunRecord): Promise<boolean> {
    const { store, starter, processes } = this.#with;
    const { agent_id: id, label } = record;
    const directory = store.directoryOf(id);
    starter.drop(id);
    const { place } = processes.self;
    const stops = [directory, chatDirectory(directory)].map((directory) =>
      processes.stop({ directory, place, withNested: true })
    );
    const left = (await Promise.all(stops)).flatMap((one) => one.survivors);
    if (left.length > 0) return false;
    const message = `Agent ${id} (${label}) was ended by its server: its folder in the record was removed before it had ended, and nothing of it is kept.`;
    store.lost.note(id, message);
    if (store.isOpen(id)) await this.#journal(record, message);
    return true;
  }

  /** Call it only while the open mark exists: the record is then in place. */
  async #journal(record: RunRecord, message: string): Promise<void> {
    const { store, journal, events, onProblem } = this.#with;
    const { agent_id: id } = record;
    const code = 'interrupted';
    const outcome: Outcome = {
      ...outcomeOfRefused(record, { code, message }),
      status: code,
      completed_at: new Date().toISOString()
    };
    try {
      await journal.recordEnd(record, outcome);
      store.close(id);
      events.runEnded({ record, outcome });
    } catch (problem) {
      onProblem(problem);
    }
  }
}

function sentence(root: string, lost: RunRecord[]): string {
  const names = lost.map(({ agent_id, label }) => `${agent_id} (${label})`);
  return `Folders of agents at work were removed from the record ${root}, so these agents were ended and nothing of them is kept: ${names.join(', ')}.`;
}

/** True for a missing path; false if access is denied. */
function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
