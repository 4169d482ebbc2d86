import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Failure } from '../../plugin/plugin.ts';
import { failureCodes } from '../engines/failures.ts';
import { fileIn } from '../paths/paths.ts';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import { appendLine } from '../state/files/append.ts';
import { createOnce, writeNew } from '../state/files/atomic-file.ts';
import { readOnce } from '../state/files/known-files.ts';
import { appendTo } from '../state/files/own-file.ts';

/**
 * The files in an agent's folder, with the process that writes each or the way
 * it is written:
 *
 * prompt.txt   the caller's prompt             spawner, before it answers
 * stdin        the engine's input, if it is not the prompt
 * record.json  the request                     spawner, before it answers
 * unstarted    empty, renamed to `starting`    spawner
 * starting     announces that a slot is taken  owner, see slots.ts
 * ready        earlier runs have ended         owner
 * heir         the server that took it over    exclusive create
 * launch       command of a terminal pane      owner; the shell removes it
 * alive        heartbeat: only its mtime       owner, then supervisor
 * silent       last heartbeat that was seen    readers on other machines
 * claim        supervisor, or `never`          exclusive create
 * stdout, stderr                               engine
 * events.jsonl stop requests, state changes    any process, an append per line
 * chat/        the same files of the command that created its chat
 * on-end/      the same files of the user's command at its end
 * asks/        its asks and their answers, see asks/ask-files.ts
 * connection/  the program's configuration for a run that asks
 * exit         exit code, in reserved space    supervisor, its output readers
 * before       git snapshot from before        owner; removed at the end
 * looking      the process that diffs          exclusive create
 * changes.json changed files                   exclusive create
 * changes.diff changes as a patch              writer of changes.json
 * result.txt   final text                      the process that finalizes
 * outcome.json how it ended                    exclusive create
 * read         the result was delivered        the process that delivered it
 * waking, woken  empty; see notify/wake-marks.ts
 */

/** The file `claim`, which decides which process starts a run. */
export interface Claim {
  /** Undefined until the supervisor has written its identity. */
  supervisor: ProcessIdentity | undefined;
  watchdogs: number[];
  /** A process declared that the run never starts. */
  never: boolean;
}

const stopReasons = [
  'canceled',
  'timeout',
  'idle_timeout',
  'output_limit',
  'retries',
  'disconnect'
] as const;

/** Why troupe ended a run. */
export type StopReason = (typeof stopReasons)[number];

/** The event of a stop, written before the first signal is sent. */
export interface StopRequest {
  type: 'stop';
  why: StopReason;
  reason?: string | undefined;
  /** The repeated failure, for `retries`. */
  failure?: Failure;
}

const exitFileBytes = 32;

export const emptyExitFile = `${' '.repeat(exitFileBytes - 1)}\n`;

/**
 * Creates a folder for a supervisor. Its files exist from the start, so that
 * an end can be recorded on a full disk.
 */
export function createFolder(directory: string): void {
  mkdirSync(directory, { mode: 0o700 });
  for (const name of ['stdout', 'stderr', 'events.jsonl'])
    writeNew(join(directory, name), '');
  writeNew(join(directory, 'exit'), emptyExitFile);
}

/**
 * A directory that exists as long as this process can see the record of an
 * agent, whether its folder is `spawns/<id>` or `workers/<id>/start-<n>`.
 */
export function aboveFolder(directory: string): string {
  return join(directory, '..', '..', '..');
}

/**
 * A file in an agent's folder, or undefined when there is none. A name or a
 * link that leads out of the folder counts as a missing file, because a record
 * may be forged.
 */
export function ownFile(directory: string, name: string): string | undefined {
  if (basename(name) !== name) return undefined;
  const path = join(directory, name);
  const file = lstatSync(path, { throwIfNoEntry: false });
  return file?.isFile() ? path : undefined;
}

/** Undefined while no process has claimed the run. */
export function claimOf(directory: string, place: string): Claim | undefined {
  // For a queued run, this check is ten times cheaper than a failed read.
  const text = wasClaimed(directory)
    ? readOnce(fileIn(directory, 'claim'), (text) => wholeClaim.test(text))
    : undefined;
  if (text === undefined) return undefined;
  const [first = '', second = ''] = text.split('\n');
  const [pid = '', start = ''] = first.split(' ');
  const written = text.includes('\n');
  const supervisor =
    written && /^\d+$/.test(pid)
      ? { pid: Number(pid), start, place }
      : undefined;
  const watchdogs = second.split(' ').filter(Boolean).map(Number);
  return { supervisor, watchdogs, never: first === 'never' };
}

/** Written once, in two lines: the supervisor, and its watchdogs. */
const wholeClaim = /^(never\n|\d+ .*\n.*\n)$/;

/** True when a process has started the run or declared that it never starts. */
export function wasClaimed(directory: string): boolean {
  return existsSync(fileIn(directory, 'claim'));
}

/** Declares that a run never starts. Returns false if it is claimed already. */
export function claimNeverStarts(directory: string): boolean {
  const path = fileIn(directory, 'claim');
  // Checked first, so that a full disk does not hide an existing claim.
  return !existsSync(path) && createOnce(path, 'never\n');
}

/** When the run began: the mtime of its claim. */
export function startedAt(directory: string): Date | undefined {
  return timeOf(fileIn(directory, 'claim'));
}

/** When the exit code was written. */
export function exitedAt(directory: string): Date | undefined {
  return hasExited(directory) ? timeOf(fileIn(directory, 'exit')) : undefined;
}

/** The engine's exit code; 128 + number of the signal that killed it. */
export function exitCodeOf(directory: string): number | undefined {
  const text = readExit(directory)?.split('\n')[0]?.trim();
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** After this time, a write that follows has another time of change. */
const quietMs = 1000;

/** Only notes are added to an exit code; before, the code may come any time. */
function readExit(directory: string): string | undefined {
  return readOnce(
    fileIn(directory, 'exit'),
    (text, quiet) => /^\d+\s/.test(text) || quiet > quietMs
  );
}

/**
 * Notes in `exit` about the output. `full`: the disk was full when the end was
 * first recorded. `filled`: it was full while the agent could not write on.
 * `emptied`: stdout was truncated. They follow the exit code in a file that
 * already has a disk block, so that they fit on a full disk.
 */
type LossNote = 'full' | 'filled' | 'emptied';

/** @returns the notes, and in `cut` why a reader could not write output */
export function endNotesOf(
  directory: string
): Record<LossNote, boolean> & { cut: string } {
  const text = readExit(directory) ?? '';
  const notes = text.slice(exitFileBytes);
  const has = (note: LossNote) => notes.includes(`[${note}]`);
  return {
    cut: notes.replaceAll(/\[(full|filled|emptied)\]/g, '').trim(),
    full: has('full'),
    filled: has('filled'),
    emptied: has('emptied')
  };
}

/** Never throws: the end is then classified without the note. */
export function noteLoss(directory: string, note: LossNote): void {
  try {
    if (!endNotesOf(directory)[note])
      appendTo(fileIn(directory, 'exit'), `[${note}]\n`);
  } catch {
    // The folder was removed, or is read-only.
  }
}

export function hasExited(directory: string): boolean {
  return exitCodeOf(directory) !== undefined;
}

/** Records why troupe ends a run. Call it before the first signal. */
export function requestStop(
  directory: string,
  request: Omit<StopRequest, 'type'>
): void {
  addEvent(directory, { type: 'stop', ...request });
}

/** The stop reason of an agent whose parent was ended. */
export function endedWith(parentId: string): string {
  return `agent ${parentId}, which spawned it, was ended`;
}

/**
 * Records that a result was delivered. `troupe clean` removes only such agents
 * by age or size. Never throws: an agent without this note counts as unread.
 */
export function noteRead(
  agentId: string,
  store: {
    directoryOf: (agentId: string) => string;
    outcomeOf: (agentId: string) => unknown;
  }
): void {
  const directory = store.directoryOf(agentId);
  try {
    if (!wasRead(directory) && store.outcomeOf(agentId))
      writeNew(join(directory, 'read'), '');
  } catch {
    // Another process was faster, or the disk is full.
  }
}

export function wasRead(directory: string): boolean {
  return existsSync(join(directory, 'read'));
}

/**
 * Appends a line to the agent's event file. Never throws: an agent must be
 * stoppable on a full disk.
 */
export function addEvent(
  directory: string,
  event: Record<string, unknown> & { type: string }
): void {
  const line = JSON.stringify({ at: new Date().toISOString(), ...event });
  try {
    appendLine(fileIn(directory, 'events.jsonl'), line);
  } catch {
    // The run is then reported as killed from outside.
  }
}

/** Records that the journal contains the spawn. */
export function noteJournalled(directory: string): void {
  addEvent(directory, { type: 'journalled' });
}

export function wasJournalled(directory: string): boolean {
  return eventsOf(directory).some(({ type }) => type === 'journalled');
}

/** Records that the program of a run is being launched. */
export function noteLaunched(directory: string, engine: string): void {
  addEvent(directory, { type: 'started', engine });
}

export function wasLaunched(directory: string): boolean {
  return eventsOf(directory).some(({ type }) => type === 'started');
}

export function eventsOf(directory: string): Record<string, unknown>[] {
  const text = readOnce(fileIn(directory, 'events.jsonl')) ?? '';
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parse)
    .filter((event) => event !== undefined);
}

/** The first stop request, which is the one that counts. */
export function stopRequestOf(directory: string): StopRequest | undefined {
  for (const event of eventsOf(directory)) {
    const why = stopReasonIn(event.why);
    if (event.type !== 'stop' || !why) continue;
    const { reason } = event;
    const failure = failureIn(event.failure);
    return {
      type: 'stop',
      why,
      ...(typeof reason === 'string' ? { reason } : {}),
      ...(failure ? { failure } : {})
    };
  }
  return undefined;
}

export function stopReasonIn(value: unknown): StopReason | undefined {
  return stopReasons.find((known) => known === value);
}

function failureIn(value: unknown): Failure | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { code: found, message }: Partial<Record<string, unknown>> = {
    ...value
  };
  const code = failureCodes.find((known) => known === found);
  return code && typeof message === 'string' ? { code, message } : undefined;
}

function timeOf(path: string): Date | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtime;
}

function parse(line: string): Record<string, unknown> | undefined {
  const value = parseJson(line);
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value))
    : undefined;
}

/** Undefined for text that is no JSON, such as an incomplete line. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
