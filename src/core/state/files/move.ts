import { renameSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';

/**
 * Renames a file of ours, which needs no space on the disk. Of several
 * processes that try it, one gets true; false means that there is no such file.
 */
export function moveIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}
