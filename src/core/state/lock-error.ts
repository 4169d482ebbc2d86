import { basename } from 'node:path';
import { HostError } from '../errors.ts';
import type { Witnesses } from './file-lock.ts';
import { isRunning } from './is-running.ts';
import { type Found, foreignMs, type Holder } from './lock-holder.ts';

/** What is told who did not get a lock. */
export function lockedByOne(
  path: string,
  holder: Holder,
  heldMs: number,
  { liveness }: Pick<Witnesses, 'liveness'>
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
    'Very many want it just now: call again.'
  );
}

/** By a program that is not ours: what it wrote there tells little of it. */
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
      ? `If that program is gone, its lock is taken over ${foreignMs / 1000} seconds after it was written: call again then.`
      : `End that program, or remove ${name} when there is none, and call again.`
  );
}

function locked(what: string, next: string): HostError {
  return new HostError('state_locked', what, `Nothing was recorded. ${next}`);
}
