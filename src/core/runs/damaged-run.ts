import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, HostError, isOutOfSpace, messageOf } from '../errors.ts';
import {
  discard,
  temporaryName,
  writeNew
} from '../state/files/atomic-file.ts';

/** The error for a damaged or forged file in an agent's folder. */
export function corruptRun(path: string): HostError {
  return new HostError(
    'state_invalid',
    `${path} is not what troupe wrote.`,
    'Its output is next to it; other agents are not affected. Move the folder away when you have what you need.'
  );
}

/** The result of `work`, or undefined when a file that it reads is damaged. */
export async function unlessCorrupt<T>(
  work: Promise<T>,
  onCorrupt: (problem: HostError) => void = () => undefined
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HostError) || error.code !== 'state_invalid')
      throw error;
    onCorrupt(error);
    return undefined;
  }
}

/** True when a disk is full or read-only. */
export function isFull(problem: unknown): boolean {
  return isOutOfSpace(problem) || errnoOf(problem) === 'EROFS';
}

/** The error of a file of so many bytes that is written on trial, if any. */
export function refusalIn(directory: string, bytes: number): unknown {
  const path = temporaryName(join(directory, 'room'));
  try {
    writeNew(path, Buffer.alloc(bytes));
    return undefined;
  } catch (problem) {
    return problem;
  } finally {
    discard(path);
  }
}

/** The problem of a run whose supervisor could not record its claim. */
export class NotClaimed extends Error {
  constructor() {
    super('its supervisor could not record that it starts the agent');
  }
}

/**
 * True when the record takes no files: its disk is full or read-only, or a
 * directory may not be written. Also true of another disk that is full, which
 * will have room again, and not of a workspace that is read-only.
 * @param directory the record, or the folder in it that was written to
 */
export function isRefused(problem: unknown, directory: string): boolean {
  const path: unknown = Reflect.get(Object(problem), 'path');
  const isHere = typeof path === 'string' && path.startsWith(directory);
  switch (errnoOf(problem)) {
    case 'EACCES':
    case 'EPERM':
      return isHere;
    case 'EROFS':
      return isHere || path === undefined;
    default:
      return problem instanceof NotClaimed || isFull(problem);
  }
}

/**
 * The error for a run whose end cannot be recorded.
 * @param directory the agent's folder
 * @param problem the error of the write, if this process wrote
 */
export function unwritten(
  agentId: string,
  directory: string,
  problem: unknown = refusalOf(directory)
): HostError {
  const what = `Agent ${agentId} has ended, but its result cannot be recorded`;
  if (problem === undefined || isOutOfSpace(problem))
    return new HostError(
      'storage_full',
      `${what}.`,
      'Free space on the disk that holds ~/.troupe and ask again; its output is kept.'
    );
  return new HostError(
    'storage_unwritable',
    `${what}: ${messageOf(problem)}.`,
    errnoOf(problem) === 'EROFS'
      ? 'Mount the disk that holds ~/.troupe writable and ask again; its output is kept.'
      : 'Repair its folder in the record and ask again; its output is kept.'
  );
}

/** Why a directory may not be written, if it may not; on a full disk it may. */
function refusalOf(directory: string): unknown {
  try {
    accessSync(directory, constants.W_OK);
    return undefined;
  } catch (problem) {
    return problem;
  }
}

/** After a folder is removed, the agent's server ends it within this time. */
const endMs = 8000;

/**
 * Agents whose folder was removed from the record before they ended. How they
 * ended is kept in memory only.
 */
export class LostAgents {
  readonly #missedAt = new Map<string, number>();
  readonly #messages = new Map<string, string>();

  /** @param message one sentence that says how the agent ended */
  note(agentId: string, message: string): void {
    this.#messages.set(agentId, message);
  }

  messageOf(agentId: string): string | undefined {
    return this.#messages.get(agentId);
  }

  /**
   * The message about an agent whose folder is gone; undefined while the
   * server that started it may still be ending it.
   */
  messageOnceLost(
    agentId: string,
    now = performance.now()
  ): string | undefined {
    const since = this.#missedAt.get(agentId) ?? now;
    this.#missedAt.set(agentId, since);
    if (!this.#messages.has(agentId) && now - since >= endMs)
      this.note(
        agentId,
        `The folder of agent ${agentId} in the record was removed before it had ended, so how it ended is not known; if another server started it, that server ends it.`
      );
    return this.messageOf(agentId);
  }
}

/** The part of a RunStore that knows about runs without a folder. */
interface GoneRuns {
  /** Absolute path of the folder with all runs. */
  root: string;
  sizes: { goneAt(agentId: string): string | undefined };
  lost: { messageOf(agentId: string): string | undefined };
}

/**
 * One sentence about an agent that was cleaned away, or whose folder was
 * removed while it was running; undefined for any other id.
 */
export function whyGone(
  agentId: string,
  { root, sizes, lost }: GoneRuns
): string | undefined {
  const message = lost.messageOf(agentId);
  if (message !== undefined) return message;
  const at = sizes.goneAt(agentId);
  if (at === undefined) return undefined;
  const patch = existsSync(keptPatch(root, agentId))
    ? ` The patch of its changes is kept: ${keptPatch(root, agentId)}.`
    : '';
  return `Agent ${agentId} had ended and was removed (troupe clean) at ${at}; logs/ has its log entries.${patch}`;
}

/** The patch of an agent's changes, kept when the agent's folder is removed. */
export function keptPatch(stateDirectory: string, agentId: string): string {
  return join(stateDirectory, 'diffs', `${agentId}.diff`);
}
