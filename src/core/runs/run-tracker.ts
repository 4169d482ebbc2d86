import { existsSync } from 'node:fs';
import type { Reply } from '../../plugin.ts';
import { limitError } from '../errors.ts';
import { Pace } from '../pace.ts';
import { soon } from '../soon.ts';
import { type OpenRuns, openRuns } from './active-runs.ts';
import { chatDirectory } from './create-chat.ts';
import { Limits, type Said } from './limits.ts';
import type { Processes } from './ports.ts';
import { ReplyReader, readableOf } from './reply-reader.ts';
import type { Run, RunRecord } from './run.ts';
import { claimOf, hasExited, requestStop } from './run-files.ts';
import { isFresh, isOver, liveStateOf } from './run-state.ts';
import type { RunStore } from './run-store.ts';
import { finishSettling, type SettleDependencies, settle } from './settle.ts';
import { isBeingSettled } from './settler.ts';
import { spoilt, unwritten } from './spoilt.ts';

export interface TrackerDependencies extends SettleDependencies {
  store: RunStore;
  processes: Processes;
  /** Its process is a child of ours that we have not seen end. */
  isOurs: (agentId: string) => boolean;
  /** Something began, ended or changed. */
  onChange: () => void;
  onProblem: (problem: unknown) => void;
}

/** A mark without folder this old belongs to a spawn that was never answered. */
const draftMs = 60_000;

/** Whose end takes longer to be written down is told as over before. */
const tellMs = 300;

const done = () => true;

/** Knows every run of the workspace, whoever started it, as it stands now. */
export class RunTracker {
  readonly #with: TrackerDependencies;
  readonly #settling = new Map<string, Promise<void>>();
  readonly #readers = new Map<string, ReplyReader>();
  readonly #limits = new Limits();
  /** Ends are synced to the disk: hundreds would hold up everybody. */
  readonly #pace = new Pace();
  readonly #listeners = new Set<(agentId: string) => void>();

  constructor(dependencies: TrackerDependencies) {
    this.#with = dependencies;
  }

  /**
   * A run as it stands; one that has ended is settled first.
   * @throws HostError `storage_full` when its end cannot be written down,
   *   `state_invalid` when somebody has spoilt its files
   */
  async run(agentId: string): Promise<Run | undefined> {
    const { store } = this.#with;
    const record = store.recordOf(agentId);
    if (!record && store.has(agentId)) throw spoilt(agentId, 'record.json');
    if (!record) return undefined;
    const status = await this.refresh(record).catch((error: unknown) => {
      if (store.has(agentId)) throw error;
    });
    const outcome = store.outcomeOf(agentId);
    // It was cleaned away while we looked.
    if (!status || !(outcome || store.has(agentId))) return undefined;
    if (status !== 'ended') return { record, status };
    if (!outcome && store.hasOutcome(agentId))
      throw spoilt(agentId, 'outcome.json');
    if (!outcome) throw unwritten(agentId);
    return { record, status: outcome.status, outcome };
  }

  /** Returns when an agent that has ended has its page in the workspace. */
  async paged(agentId: string): Promise<void> {
    await this.#with.pages?.ensure(agentId);
  }

  /** Settles a run that has ended; says where it stands then. */
  async refresh(record: RunRecord): Promise<'queued' | 'running' | 'ended'> {
    const { store, processes } = this.#with;
    const { agent_id: id } = record;
    if (store.hasOutcome(id)) return 'ended';
    const state = liveStateOf(record, store.directoryOf(id), processes);
    if (state === 'queued' || state === 'running') return state;
    if (this.#isForOwner(record)) return 'running';
    await this.#settle(record, state);
    if (store.hasOutcome(id)) return 'ended';
    const again = liveStateOf(record, store.directoryOf(id), processes);
    return again === 'queued' || again === 'running' ? again : 'ended';
  }

  /** Its end calls us, so that nobody need look for it. */
  isFollowed(agentId: string): boolean {
    const { isOurs, store } = this.#with;
    return isOurs(agentId) && !store.hasOutcome(agentId);
  }

  /** Only a process that has the engine can read what it said. */
  #isForOwner(record: RunRecord): boolean {
    const { engineOf, processes } = this.#with;
    return (
      !readableOf(record.kind, engineOf(record)) &&
      processes.liveness(record.owner) === 'alive'
    );
  }

  /** Runs that are queued or running, oldest first. */
  async active(): Promise<Run[]> {
    return (await this.standing()).active;
  }

  /** The same with those that are over and whose end is being written. */
  standing(): Promise<OpenRuns> {
    const refresh = (record: RunRecord) => this.refresh(record);
    return openRuns({ ...this.#with, refresh });
  }

  /** What a running agent has said so far. */
  async reply(agentId: string): Promise<Reply | undefined> {
    return (await this.#said(agentId))?.reply;
  }

  /** Looks after every open run; called once a second while we live. */
  async tick(): Promise<void> {
    const open = new Set(this.#with.store.openIds());
    // What another server settled is not followed any more.
    for (const id of [...this.#readers.keys(), ...this.#limits.known()])
      if (!open.has(id)) this.#forget(id);
    // Side by side: one that resists its end must not hold up the others.
    const attend = (id: string) =>
      this.#attend(id).catch((problem) => this.#report(id, problem));
    await Promise.all([...open].map(attend));
  }

  /** Of one that another server settled and a clean took, nothing is wrong. */
  #report(id: string, problem: unknown): void {
    const { store, onProblem } = this.#with;
    if (store.has(id)) onProblem(problem);
  }

  /** Calls back with every run that was settled here, until unsubscribed. */
  subscribe(listener: (agentId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A run of ours has ended, or one was changed by a cancel. */
  async look(agentId: string): Promise<void> {
    const record = this.#with.store.recordOf(agentId);
    if (record) await this.refresh(record);
  }

  async #attend(id: string): Promise<void> {
    const { store } = this.#with;
    const record = store.recordOf(id);
    if (!record) {
      if (store.markAge(id) > draftMs) store.giveUp(id);
      return;
    }
    const outcome = store.hasOutcome(id) ? store.outcomeOf(id) : undefined;
    if (outcome) {
      const { processes } = this.#with;
      const directory = store.directoryOf(id);
      const isOurs = this.#settling.has(id);
      if (!isOurs && !isBeingSettled(outcome, directory, processes))
        await finishSettling(id, this.#with);
      return;
    }
    if ((await this.refresh(record)) === 'running') await this.#enforce(record);
  }

  /** Ends a run that its own watchdog should have ended, or cannot. */
  async #enforce(record: RunRecord): Promise<void> {
    const { store, processes } = this.#with;
    const { agent_id: id, owner } = record;
    const directory = store.directoryOf(id);
    // One of the servers reads along, or all would have the work.
    const { self, liveness } = processes;
    const isOurs = owner.pid === self.pid || liveness(owner) === 'dead';
    const said =
      record.retry_seconds && isOurs ? await this.#said(id) : undefined;
    const passed = this.#limits.passed(record, directory, said);
    // It may have ended while it was read.
    if (!passed || hasExited(directory)) return;
    requestStop(directory, passed);
    await processes.stop({ directory, place: owner.place, withNested: true });
    await this.refresh(record);
  }

  async #said(agentId: string): Promise<Said | undefined> {
    const { store, engineOf } = this.#with;
    const record = store.recordOf(agentId);
    const readable = record && readableOf(record.kind, engineOf(record));
    if (!readable) return undefined;
    const reader =
      this.#readers.get(agentId) ??
      new ReplyReader(readable, store.directoryOf(agentId));
    this.#readers.set(agentId, reader);
    return { reply: await reader.read(), row: reader.row };
  }

  #forget(id: string): void {
    this.#readers.delete(id);
    this.#limits.forget(id);
  }

  #settle(record: RunRecord, state: 'ended' | 'lost'): Promise<void> {
    const { agent_id: id } = record;
    const running = this.#settling.get(id);
    if (running) return running;
    const work = this.#settleNow(record, state).finally(() =>
      this.#settling.delete(id)
    );
    this.#settling.set(id, work);
    // What it left behind may resist: that it is over is told before.
    const { onChange } = this.#with;
    const isDone = soon(work.then(done, done), tellMs, undefined);
    void isDone.then((settled) => settled ?? onChange());
    return work;
  }

  async #settleNow(record: RunRecord, state: 'ended' | 'lost'): Promise<void> {
    const { store, processes, onChange } = this.#with;
    const { agent_id: id } = record;
    const directory = store.directoryOf(id);
    if (!(await isOver(record, directory, processes))) return;
    const claim = claimOf(directory, record.owner.place);
    if (state === 'lost' || claim?.supervisor)
      await processes.stop({
        directory,
        place: record.owner.place,
        justEnded: this.#limits.knows(id) || isFresh(directory)
      });
    // Else its own server did so before it started.
    const chat = chatDirectory(directory);
    if (!claim?.supervisor && existsSync(chat))
      await processes.stop({
        directory: chat,
        place: record.owner.place,
        justEnded: isFresh(chat)
      });
    await this.#pace.turn();
    try {
      await settle(id, this.#with);
    } catch (problem) {
      if (limitError(problem)) throw problem;
      return this.#report(id, problem);
    }
    this.#forget(id);
    onChange();
    for (const listener of [...this.#listeners]) listener(id);
  }
}
