import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentPages } from '../../audit/views/agent-page.ts';
import type { ChangeTracker } from '../../changes/change-tracker.ts';
import { isSameProcess } from '../../processes/process-identity.ts';
import { whileLocked } from '../../state/locks/file-lock.ts';
import type { Processes, RunAsks } from '../ports.ts';
import type { Outcome, RunRecord } from '../run.ts';
import type { RunEvents } from '../run-events.ts';
import { claimOf, exitedAt, stopRequestOf } from '../run-files.ts';
import { isFresh } from '../run-state.ts';
import type { RunStore } from '../run-store.ts';
import { chatDirectory } from '../sessions/create-chat.ts';
import { recordFirstTurn } from '../sessions/session-turns.ts';
import { isSilent } from '../sign-of-life.ts';
import {
  lostTreeOf,
  type OutcomeDependencies,
  readOutcome
} from './outcome.ts';
import type { RunJournal } from './run-journal.ts';

export interface FinalizeDependencies extends OutcomeDependencies {
  changeTracker: ChangeTracker;
  journal: RunJournal;
  events: RunEvents;
  asks?: RunAsks;
  /** Views of single agents, written when their end is recorded. */
  pages?: AgentPages;
}

/**
 * Records how a run ended and publishes it. Any process may call this, any
 * number of times: the first outcome stands, and the process that wrote it
 * journals it, once.
 */
export async function finalize(
  record: RunRecord,
  dependencies: FinalizeDependencies
): Promise<void> {
  const { store, journal, events, pages, changeTracker } = dependencies;
  const { agent_id: id } = record;
  if (store.outcomeOf(id)) return events.runChanged(record);
  if (!store.has(id)) throw new Error(`No record of agent ${id}`);
  const directory = store.directoryOf(id);
  dependencies.asks?.close(record);
  const lostTree = lostTreeOf(record, directory);
  await changeTracker.conclude(record);
  const redact = (text: string) => journal.redact(text);
  const read = await readOutcome(record, lostTree, { ...dependencies, redact });
  const outcome = withoutSecrets(read, journal);
  if (record.in_chat) recordChat(record, outcome, store);
  if (!store.end(id, outcome)) return events.runChanged(record);
  await journalEnd(record, outcome, dependencies);
  if (await changeTracker.leave(record, true)) store.close(id);
  // A page that cannot be written now is written with the next views.
  await pages?.write(id).catch(() => undefined);
  events.runEnded({ record, outcome });
}

/**
 * Completes an end that was recorded, but not its follow-up: journals the end
 * if its process was killed before that or the disk was full, settles the
 * worktree, and removes the open mark. An end that the disk kept out of the
 * journal is published now, because its process lives and could not do so.
 * Only for outcomes of which `isBeingFinalized` is false.
 */
export async function completeEnd(
  record: RunRecord,
  outcome: Outcome,
  dependencies: FinalizeDependencies
): Promise<void> {
  const { store, journal, changeTracker, events, processes } = dependencies;
  const { agent_id: id } = record;
  const { settled_by: author } = outcome;
  const isJournalled = await journal.isEndRecorded(id);
  let isDelayed = false;
  // A lock in a folder that was cleaned away would create it again.
  if (!isJournalled && store.isOpen(id)) {
    const lock = join(store.directoryOf(id), 'end.lock');
    await whileLocked(lock, processes, async () => {
      if (await journal.isEndRecorded(id)) return;
      await journalEnd(record, outcome, dependencies);
      isDelayed = author ? processes.liveness(author) === 'alive' : false;
    });
  }
  const isOurs = author !== undefined && isSameProcess(author, processes.self);
  if (await changeTracker.leave(record, isDelayed && isOurs)) store.close(id);
  if (isDelayed) events.runEnded({ record, outcome });
}

/**
 * Ends the processes that an ended run left behind.
 * @param state `lost` when its supervisor is gone without an exit code
 * @param wasWatched true if this process has seen the run at work
 */
export async function endLeftovers(
  record: RunRecord,
  state: 'ended' | 'lost',
  wasWatched: boolean,
  { store, processes }: { store: RunStore; processes: Processes }
): Promise<void> {
  const directory = store.directoryOf(record.agent_id);
  const { place } = record.owner;
  const claim = claimOf(directory, place);
  if (state === 'lost' || claim?.supervisor)
    await processes.stop({
      ...{ directory, place },
      justEnded: wasWatched || isFresh(directory)
    });
  // Before a run starts, its server stops the processes of its chat command.
  const chat = chatDirectory(directory);
  if (!claim?.supervisor && existsSync(chat))
    await processes.stop({
      ...{ directory: chat, place },
      justEnded: isFresh(chat)
    });
}

/** After this time, another process that finalizes a run counts as stuck. */
const othersMs = 10_000;
/** After this time, this process has failed to journal the end. */
const ownMs = 800;

/**
 * True while the process that wrote an outcome may still be about to journal
 * it. The work of a dead process is completed at once. The work of a slow one
 * is left alone, or the journal would contain the end twice.
 * @param ageMs how long the outcome has been there
 */
export function isBeingFinalized(
  { settled_by: author }: Outcome,
  ageMs: number,
  directory: string,
  { self, liveness }: Pick<Processes, 'self' | 'liveness'>
): boolean {
  if (!author || isSameProcess(author, self)) return ageMs < ownMs;
  const life = liveness(author);
  if (life === 'dead' || ageMs >= othersMs) return false;
  // A command that ends sooner sees what earlier ones have seen.
  return life === 'alive' || !isSilent(directory, self);
}

/** Milliseconds since an outcome was written, by a clock that may be wrong. */
export function ageOf(directory: string): number {
  const path = join(directory, 'outcome.json');
  const file = statSync(path, { throwIfNoEntry: false });
  return file ? Math.abs(Date.now() - file.mtimeMs) : 0;
}

/** A server that has the engine finalizes a run within this time of its end. */
const classifyMs = 5000;
/** The run's own server may have to diff a large repository first. */
const ownerMs = 15_000;

/** True while another server may be about to finalize a run that ended. */
export function isForOthers(
  { owner }: Pick<RunRecord, 'owner'>,
  directory: string,
  { liveness }: Pick<Processes, 'liveness'>
): boolean {
  const isAlive = liveness(owner) === 'alive';
  return endedWithin(directory, isAlive ? ownerMs : classifyMs);
}

/**
 * True while a server on the host and in the namespace of a run may be about
 * to end what the run left behind; its processes are invisible from elsewhere.
 */
export function isForItsPlace(
  { owner }: Pick<RunRecord, 'owner'>,
  directory: string,
  { liveness }: Pick<Processes, 'liveness'>
): boolean {
  return liveness(owner) === 'unknown' && endedWithin(directory, ownerMs);
}

/** False for a run that was stopped: the request says how it ended. */
function endedWithin(directory: string, milliseconds: number): boolean {
  const endedAt = exitedAt(directory);
  if (!endedAt || stopRequestOf(directory)) return false;
  return Math.abs(Date.now() - endedAt.getTime()) < milliseconds;
}

/** An error may quote a key from the output, and is shown in many places. */
function withoutSecrets(outcome: Outcome, journal: RunJournal): Outcome {
  const { error } = outcome;
  return error === null
    ? outcome
    : { ...outcome, error: journal.redact(error) };
}

/** Runs before the end is recorded, so that the next turn finds the chat. */
function recordChat(
  record: RunRecord,
  outcome: Outcome,
  store: RunStore
): void {
  try {
    recordFirstTurn(record, outcome, store);
  } catch {
    // A full disk must not keep a run from ending.
  }
}

async function journalEnd(
  record: RunRecord,
  outcome: Outcome,
  { journal, store }: FinalizeDependencies
): Promise<void> {
  await journal.ensureSpawn(record);
  store.sizes.note(record.agent_id);
  // Without a mark, either the mark is lost, or another process has completed
  // the end while this one was paused, or the outcome of an ended run is lost.
  const isOurs = () => store.isOpen(record.agent_id);
  await journal.recordEnd(record, outcome, isOurs);
}
