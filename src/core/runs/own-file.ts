import { lstatSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * A file in an agent's folder, if it is one. A project may have come with
 * agents that never were: what leads out of the folder, by its name or as a
 * link, is taken for a file that is not there.
 */
export function ownFile(directory: string, name: string): string | undefined {
  if (basename(name) !== name) return undefined;
  const path = join(directory, name);
  const file = lstatSync(path, { throwIfNoEntry: false });
  return file?.isFile() ? path : undefined;
}
