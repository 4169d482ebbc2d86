import { rmSync } from 'node:fs';
import { errnoOf } from '../../../src/core/errors.ts';

const tries = 100;

/**
 * Removes a folder into which a server may write meanwhile. Unlike the retries
 * of `rmSync`, each try lists the folder again.
 * @throws Error of `rmSync`, such as for a path that is not there
 */
export function removeBusy(path: string): void {
  for (let tried = 1; ; tried += 1)
    try {
      rmSync(path, { recursive: true });
      return;
    } catch (error) {
      if (errnoOf(error) !== 'ENOTEMPTY' || tried === tries) throw error;
    }
}
