import { rmSync } from 'node:fs';

/**
 * Removes a folder to which other processes still write. Node lists a folder
 * only twice, and fails when a file appears after that.
 */
export function removeWhileUsed(path: string): void {
  for (let left = 100; ; left -= 1)
    try {
      rmSync(path, { recursive: true, force: true });
      return;
    } catch (error) {
      if (left === 0) throw error;
    }
}
