import { lstatSync } from 'node:fs';
import type { ProcessIdentity } from '../runs/run.ts';
import type { Witnesses } from '../state/file-lock.ts';
import type { WorkerFolder } from './worker-folder.ts';

const hasModes = process.platform !== 'win32';

/**
 * Whether a worker was made on this machine, as far as that can be known: a
 * project may have brought one along, so that its program is started again.
 * What starts it is in a file for us alone, as no checkout makes one under the
 * usual mask, and its maker was a process here.
 */
export function wasMadeHere(
  { request }: WorkerFolder,
  maker: ProcessIdentity | undefined,
  witnesses: Witnesses
): boolean {
  const file = lstatSync(request, { throwIfNoEntry: false });
  if (!file?.isFile() || maker === undefined) return false;
  const isOpen = hasModes && (file.mode & 0o077) !== 0;
  return !isOpen && witnesses.liveness(maker) !== 'unknown';
}
