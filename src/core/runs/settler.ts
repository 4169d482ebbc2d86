import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from './ports.ts';
import { isSameProcess, type Outcome } from './run.ts';

/** After so long, another process that settles a run must be stuck. */
const othersMs = 10_000;
/** And in our own, it has failed. */
const ownMs = 800;

/**
 * True while whoever wrote an outcome may still be about to journal it. What
 * a process left behind that is gone can be finished at once; to do it for
 * one who is only slow would say it twice.
 */
export function isBeingSettled(
  { settled_by: settler }: Outcome,
  directory: string,
  { self, liveness }: Pick<Processes, 'self' | 'liveness'>
): boolean {
  const ageMs = ageOf(join(directory, 'outcome.json'));
  if (settler && isSameProcess(settler, self)) return ageMs < ownMs;
  if (settler && liveness(settler) === 'dead') return false;
  return ageMs < (settler ? othersMs : ownMs);
}

function ageOf(path: string): number {
  const file = statSync(path, { throwIfNoEntry: false });
  return file ? Math.abs(Date.now() - file.mtimeMs) : 0;
}
