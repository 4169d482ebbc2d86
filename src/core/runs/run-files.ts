import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Failure } from '../../plugin.ts';
import { failureCodes } from '../engines/failure-codes.ts';
import { isTorn } from '../state/append.ts';
import {
  createOnce,
  readIfThere,
  remove,
  writeNew
} from '../state/atomic-file.ts';
import { fileIn } from '../state/file-in.ts';
import { appendTo, fillIn, touch } from '../state/own-file.ts';
import type { ProcessIdentity, StopReason, StopRequest } from './run.ts';

/**
 * The small files in an agent's folder, each with one writer at a time:
 *
 * prompt.txt   the caller's words              spawner, before the answer
 * stdin        what the engine is given, where it differs
 * record.json  what was asked                  spawner, before the answer
 * unstarted    will be `starting`              laid out beforehand
 * starting     wants a place to work           its owner, see places.ts
 * ready        no more in line: wants a place   its owner
 * launch       what a pane is to run           until its shell has read it
 * claim        who starts it, or that nobody   created exclusively
 * stdout, stderr                               the engine
 * events.jsonl stop requests, state changes    anyone, one append a line
 * chat/        the same of the command that made its chat
 * exit         exit code, laid out beforehand  supervisor
 * before       how the files stood, for git    its owner, until the end
 * looking      who looks at what changed       created exclusively
 * changes.json what changed                    created exclusively
 * changes.diff the same as a patch             whoever wrote changes.json
 * result.txt   final text                      whoever settles
 * outcome.json how it ended                    created exclusively
 * read         somebody was given the result    whoever gave it
 */
export interface Claim {
  /** Absent until the supervisor has written itself down, and for `never`. */
  supervisor: ProcessIdentity | undefined;
  watchdogs: number[];
  /** Somebody declared that the run never starts. */
  never: boolean;
}

/**
 * A directory that is there as long as this process can see the place of an
 * agent's folder, whether that is `spawns/<id>` or `workers/<id>/start-<n>`.
 */
export function aboveFolder(directory: string): string {
  return join(directory, '..', '..', '..');
}

const exitFileBytes = 32;

/** What is renamed to `starting`: to make a file takes longer. */
export const notStarting = 'unstarted';

export const emptyExitFile = `${' '.repeat(exitFileBytes - 1)}\n`;

/** Undefined while nobody has claimed the run. */
export function claimOf(directory: string, place: string): Claim | undefined {
  // Hundreds wait without one: to look costs a tenth of a read that fails.
  const text = wasClaimed(directory)
    ? readIfThere(fileIn(directory, 'claim'))
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

/** Somebody starts it or has done so, or has said that it never starts. */
export function wasClaimed(directory: string): boolean {
  return existsSync(fileIn(directory, 'claim'));
}

/** Says that the owner is about to start it. False takes that back. */
export function setStarting(directory: string, on: boolean): void {
  const path = fileIn(directory, 'starting');
  if (!on) {
    remove(path);
    return;
  }
  const laidOut = join(directory, notStarting);
  // Opened so, it has the time of now, by the system's clock.
  fillIn(laidOut, '');
  renameSync(laidOut, path);
}

/** Says so again: starting takes longer than an announcement holds. */
export function touchStarting(directory: string): void {
  try {
    touch(fileIn(directory, 'starting'));
  } catch {
    // Then others may take its place, which is no harm to it.
  }
}

export function isStarting(directory: string): boolean {
  return existsSync(fileIn(directory, 'starting'));
}

export function startingSince(directory: string): Date | undefined {
  return timeOf(fileIn(directory, 'starting'));
}

/** Says that those it comes after are over, and only a place is wanting. */
export function noteReady(directory: string): void {
  const path = fileIn(directory, 'ready');
  if (!existsSync(path)) writeNew(path, '');
}

export function isReady(directory: string): boolean {
  return existsSync(fileIn(directory, 'ready'));
}

/** Declares that a run never starts. False when somebody claimed it before. */
export function claimNeverStarts(directory: string): boolean {
  const path = fileIn(directory, 'claim');
  // What is there needs no room on a full disk.
  return !existsSync(path) && createOnce(path, 'never\n');
}

/** When the run began, by the claim's own time. */
export function startedAt(directory: string): Date | undefined {
  return timeOf(fileIn(directory, 'claim'));
}

/** When the exit code was written. */
export function exitedAt(directory: string): Date | undefined {
  return hasExited(directory) ? timeOf(fileIn(directory, 'exit')) : undefined;
}

/** The engine's exit code; signals show as 128 + number. */
export function exitCodeOf(directory: string): number | undefined {
  const text = readIfThere(fileIn(directory, 'exit'))?.split('\n')[0]?.trim();
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

export function hasExited(directory: string): boolean {
  return exitCodeOf(directory) !== undefined;
}

/** Records that we end a run, before the first signal. */
export function requestStop(
  directory: string,
  request: Omit<StopRequest, 'type'>
): void {
  addEvent(directory, { type: 'stop', ...request });
}

/** Why an agent ends whose own caller was ended. */
export function endedWith(parentId: string): string {
  return `agent ${parentId}, which spawned it, was ended`;
}

/**
 * One line in the agent's event file. Never throws: a full disk may not keep
 * an agent from being stopped, and most facts lie elsewhere.
 */
export function addEvent(
  directory: string,
  event: Record<string, unknown> & { type: string }
): void {
  const line = JSON.stringify({ at: new Date().toISOString(), ...event });
  const path = fileIn(directory, 'events.jsonl');
  try {
    // Who was killed amid a line may not spoil ours.
    const before = isTorn(path) ? '\n' : '';
    appendTo(path, `${before}${line}\n`);
  } catch {
    // Then the run reads as ended from outside.
  }
}

/** Notes that the spawn stands in the journal. */
export function noteJournalled(directory: string): void {
  addEvent(directory, { type: 'journalled' });
}

export function wasJournalled(directory: string): boolean {
  return eventsOf(directory).some(({ type }) => type === 'journalled');
}

export function eventsOf(directory: string): Record<string, unknown>[] {
  const text = readIfThere(fileIn(directory, 'events.jsonl')) ?? '';
  return text
    .split('\n')
    .map(parse)
    .filter((event) => event !== undefined);
}

/** The first stop request, which decides; undefined when there was none. */
export function stopRequestOf(directory: string): StopRequest | undefined {
  for (const event of eventsOf(directory)) {
    if (event.type !== 'stop') continue;
    const why = stopReasons.find((known) => known === event.why);
    const reason = event.reason;
    const failure = failureIn(event.failure);
    if (why)
      return {
        type: 'stop',
        why,
        ...(typeof reason === 'string' ? { reason } : {}),
        ...(failure ? { failure } : {})
      };
  }
  return undefined;
}

const stopReasons: StopReason[] = [
  'canceled',
  'timeout',
  'idle_timeout',
  'output_limit',
  'retries',
  'disconnect'
];

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
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value))
      : undefined;
  } catch {
    return undefined;
  }
}
