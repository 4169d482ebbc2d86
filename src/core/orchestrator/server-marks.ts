import type { Witnesses } from '../state/file-lock.ts';
import { processMarks } from '../state/process-marks.ts';
import type { WorkerFolder } from './worker-folder.ts';

/**
 * True when a worker's server was killed and it has no other: one that ends
 * by itself, as its program wants it, leaves no mark.
 */
export function hasLostServer(
  { servers }: WorkerFolder,
  witnesses: Witnesses
): boolean {
  const marks = processMarks(servers, witnesses);
  return marks.length > 0 && marks.every(({ isAlive }) => !isAlive);
}
