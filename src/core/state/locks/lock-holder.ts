import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { errnoOf, HostError } from '../../errors.ts';
import { lazy } from '../../lazy.ts';
import { isRunning } from '../../processes/is-running.ts';
import type { Processes } from '../../runs/ports.ts';
import { ownReadFlags } from '../files/regular-file.ts';

const holderSchema = lazy(() =>
  z.object({
    pid: z.number(),
    start: z.string(),
    place: z.string(),
    nonce: z.string()
  })
);

/** The content of a foreign lock, as far as it is used. */
const foreignSchema = lazy(() => z.object({ pid: z.int().positive() }));

export type Holder = z.output<ReturnType<typeof holderSchema>>;

/** The state of a lock file at one moment. */
export interface Found {
  /** Undefined when a foreign program wrote the lock. */
  holder: Holder | undefined;
  /** The pid in a foreign lock, if any. */
  foreignPid: number | undefined;
  /** The modification time, in milliseconds since 1970. */
  writtenMs: number;
  /** Differs for each acquisition, even by the same process. */
  acquisition: string;
  /** The holder's nonce; `acquisition` for a foreign lock. */
  name: string;
}

/** The current state of a lock; undefined when it is free. */
export function findHolder(path: string): Found | undefined {
  let descriptor: number;
  try {
    // Does not block on a FIFO, which a user of a shared folder may create.
    descriptor = openSync(path, ownReadFlags);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { ino, ctimeNs, mtimeMs } = fstatSync(descriptor, { bigint: true });
    const content = parse(readFileSync(descriptor, 'utf8'));
    const holder = holderSchema().safeParse(content).data;
    const acquisition = `${ino}-${ctimeNs}`;
    return {
      holder,
      foreignPid: holder
        ? undefined
        : foreignSchema().safeParse(content).data?.pid,
      writtenMs: Number(mtimeMs),
      acquisition,
      name: holder?.nonce ?? acquisition
    };
  } finally {
    closeSync(descriptor);
  }
}

/** The minimum age of a foreign lock that counts as left over. */
const foreignTimeoutMs = 30_000;

/**
 * Whether a foreign program has left its lock behind. A foreign lock need not
 * name its process, so it must also be older than 30 seconds, the limit of the
 * published council. It is kept while its process runs, or when its time is in
 * the future.
 */
export function isLeftOver(found: Found, now = Date.now()): boolean {
  const { holder, foreignPid, writtenMs } = found;
  if (holder || now - writtenMs <= foreignTimeoutMs) return false;
  return foreignPid === undefined || !isRunning(foreignPid);
}

/** The error when one process holds the lock for too long. */
export function lockedByOne(
  path: string,
  holder: Holder,
  heldMs: number,
  liveness: Processes['liveness']
): HostError {
  const seconds = Math.round(heldMs / 1000);
  const [host = 'an unknown machine'] = holder.place.split(' ');
  return locked(
    `Process ${holder.pid} on ${host} has held ${path} for ${seconds} s.`,
    {
      alive: 'It may be paused or very busy: call again.',
      dead: 'It has ended, and another process, perhaps paused, is about to remove its lock: call again.',
      unknown: `Whether it still runs cannot be seen from here: if not, remove ${basename(path)} and call again.`
    }[liveness(holder)]
  );
}

export function lockedByMany(path: string, longestMs: number): HostError {
  return locked(
    `${path} was held by one process after the other for ${longestMs / 1000} s.`,
    'Very many processes want it now: call again.'
  );
}

export function lockedByForeigner(
  path: string,
  { foreignPid, writtenMs }: Found
): HostError {
  const name = basename(path);
  const isAlive = foreignPid !== undefined && isRunning(foreignPid);
  if (isAlive)
    return locked(
      `${path} is held by a program that is not ours, process ${foreignPid}.`,
      `End process ${foreignPid}, or remove ${name} when another program has that number now, and call again.`
    );
  const isPast = writtenMs <= Date.now();
  return locked(
    `${path} is held by a program that is not ours.`,
    isPast
      ? `If that program is gone, its lock is taken over ${foreignTimeoutMs / 1000} seconds after it was written: call again then.`
      : `End that program, or remove ${name} when there is none, and call again.`
  );
}

function locked(what: string, next: string): HostError {
  return new HostError('state_locked', what, `Nothing was recorded. ${next}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
