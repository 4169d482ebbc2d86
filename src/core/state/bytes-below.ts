import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Bytes in the files of a folder. Links count as nothing and are not followed. */
export function bytesBelow(directory: string): number {
  let bytes = 0;
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (file?.isDirectory()) bytes += bytesBelow(path);
    else if (file?.isFile()) bytes += file.size;
  }
  return bytes;
}

/** Empty for what is gone, or may not be looked into. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
