import { existsSync, statSync } from 'node:fs';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import {
  createOnce,
  readIfExists,
  remove
} from '../state/files/atomic-file.ts';
import { namesIn } from '../state/files/directories.ts';
import { moveIfThere } from '../state/files/move.ts';
import type { Ask, AskAnswer } from './ask.ts';
import {
  answerTo,
  askFile,
  askFolder,
  askIn,
  numberIn,
  openAsksIn
} from './ask-files.ts';

/*
 * A run is parked while its asks wait for long: its program is ended, and a
 * small process waits for the answers and continues the session. Files in the
 * folder of the asks decide, so that each answer is used once:
 *
 * <n>.call   the call of an ask that may be parked, written by its bridge
 * <n>.held   the parker is about to end the program, or has: only the program
 *            that continues may get the answer
 * <n>.taken  the bridge gives the answer to the program
 * <n>.due    the answer waits for the program that continues; the bridge that
 *            moves it away may use it
 * resume     how the program is continued, written before the start
 * parked     the program is to be ended, and its place to be taken
 * cleared    the processes of the program are gone; it has text if the program
 *            had ended by itself
 *
 * A bridge writes `taken` and then looks for `held`; the parker writes `held`
 * and then looks for `taken`. So at least one of them sees the other, and an
 * answer never reaches both programs.
 */

/** The line of stdout that separates the output of two programs. */
export const resumedType = 'troupe.resumed';

/** How a program is continued. The id of its session is not known before. */
export interface ResumeFacts {
  command: string;
  args: string[];
  /** In `args`, in place of the session. */
  placeholder: string;
  /** The session that the program was given; null if it begins one. */
  sessionId: string | null;
  /** The line of stdout that names the session, and its field. */
  session: { type: string; field: string };
}

/** The file `parked`. */
export interface Parked {
  session: string;
  /** Ids of the asks whose answers are due to the program that continues. */
  asks: string[];
  /** The process that ends the program. */
  parker: ProcessIdentity;
}

type AskId = Pick<Ask, 'ask_id'>;

const resumeFile = 'resume';
const parkedFile = 'parked';
const clearedFile = 'cleared';

export function writeResumeFacts(directory: string, facts: ResumeFacts): void {
  createOnce(askFile(directory, resumeFile), JSON.stringify(facts), false);
}

export function resumeFactsOf(directory: string): ResumeFacts | undefined {
  return parsed(readIfExists(askFile(directory, resumeFile)));
}

/** The parked program of a run; undefined while its program runs. */
export function parkedOf(directory: string): Parked | undefined {
  return parsed(readIfExists(askFile(directory, parkedFile)));
}

/** Declares that an ask may be parked, and with which call it comes back. */
export function offerCall(directory: string, ask: AskId, call: string): void {
  createOnce(pathOf(directory, ask, 'call'), call, false);
}

export function isHeld(directory: string, ask: AskId): boolean {
  return existsSync(pathOf(directory, ask, 'held'));
}

/**
 * Whether the bridge of an ask may give the answer to its program. False while
 * the run is being parked; it may be asked again then.
 */
export function mayDeliver(directory: string, ask: AskId): boolean {
  if (isHeld(directory, ask)) return false;
  try {
    createOnce(pathOf(directory, ask, 'taken'), '', false);
  } catch {
    // On a full disk, no run can be parked either.
  }
  return !isHeld(directory, ask);
}

/**
 * Holds all open asks of a run, so that no bridge gives an answer any more.
 * @param pauseMs the least time since an answer was given to the program, which
 *   may still be acting on it
 * @returns undefined, with nothing held, if the run may not be parked now
 */
export function holdAll(
  directory: string,
  agentId: string,
  pauseMs: number
): Ask[] | undefined {
  const asks = openAsksIn(directory, agentId);
  const isReady = (ask: Ask) =>
    existsSync(pathOf(directory, ask, 'call')) &&
    !existsSync(pathOf(directory, ask, 'taken'));
  if (asks.length === 0 || !asks.every(isReady)) return undefined;
  const sinceTaken = Math.abs(Date.now() - lastTaken(directory));
  if (sinceTaken < pauseMs) return undefined;
  for (const ask of asks) createOnce(pathOf(directory, ask, 'held'), '', false);
  const now = openAsksIn(directory, agentId);
  const isSame =
    now.length === asks.length &&
    now.every(({ ask_id: id }, index) => asks[index]?.ask_id === id);
  if (isSame && now.every(isReady)) return asks;
  release(directory);
  return undefined;
}

/**
 * Gives the asks back to their bridges, and removes what a killed process left.
 * Only for the holder of the lock, while the run is not parked.
 */
export function release(directory: string): void {
  for (const name of namesIn(askFolder(directory)))
    if (name.endsWith('.held')) remove(askFile(directory, name));
  remove(askFile(directory, clearedFile));
}

/** From here on, the program is ended and another process takes its place. */
export function park(directory: string, parked: Parked): void {
  createOnce(askFile(directory, parkedFile), JSON.stringify(parked));
}

/** @param isOurs whether the program was ended, and not by itself */
export function noteCleared(directory: string, isOurs: boolean): void {
  const note = isOurs ? '' : 'by itself\n';
  createOnce(askFile(directory, clearedFile), note, false);
}

/** Whether the program had ended by itself when it was to be ended. */
export function hadEnded(directory: string): boolean {
  return Boolean(readIfExists(askFile(directory, clearedFile)));
}

export function isCleared(directory: string): boolean {
  return existsSync(askFile(directory, clearedFile));
}

/**
 * Hands the answers to the program that is started next, and ends the parking.
 * May be repeated after a failure.
 */
export function unpark(directory: string, { asks }: Parked): void {
  for (const ask_id of asks) {
    const ask = { ask_id };
    moveIfThere(pathOf(directory, ask, 'held'), pathOf(directory, ask, 'due'));
  }
  // In this order: without `cleared`, another process would end the program.
  remove(askFile(directory, parkedFile));
  remove(askFile(directory, clearedFile));
}

/** Takes the answer that was given to the same call before the run was parked. */
export function takeDue(
  directory: string,
  agentId: string,
  call: string
): AskAnswer | undefined {
  for (const name of namesIn(askFolder(directory))) {
    const [, n] = /^([1-9]\d{0,8})\.due$/.exec(name) ?? [];
    const ask = n && askIn(directory, agentId, `${agentId}-${n}`);
    if (!ask || callOf(directory, ask) !== call) continue;
    const answer = answerTo(directory, ask);
    const due = pathOf(directory, ask, 'due');
    if (answer && moveIfThere(due, pathOf(directory, ask, 'taken')))
      return answer;
  }
  return undefined;
}

/** The call of a parked ask, as `callText` has it. */
export function callOf(directory: string, ask: AskId): string | undefined {
  return readIfExists(pathOf(directory, ask, 'call'));
}

/** A call as text, whatever the order of the fields of its input. */
export function callText(tool: string, input: object): string {
  return JSON.stringify([tool, input], (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return value;
    const fields = Object.entries(value).sort(([one], [other]) =>
      one < other ? -1 : 1
    );
    return Object.fromEntries(fields);
  });
}

/** When an answer was given to a program last, in milliseconds; else 0. */
function lastTaken(directory: string): number {
  const times = namesIn(askFolder(directory))
    .filter((name) => name.endsWith('.taken'))
    .map((name) => {
      const path = askFile(directory, name);
      return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    });
  return Math.max(0, ...times);
}

function pathOf(
  directory: string,
  { ask_id: id }: AskId,
  end: 'call' | 'held' | 'taken' | 'due'
): string {
  return askFile(directory, `${numberIn(id)}.${end}`);
}

/** Our own file, so that its fields are not checked one by one. */
function parsed<Facts>(text: string | undefined): Facts | undefined {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
