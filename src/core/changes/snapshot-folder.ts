import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The git snapshot from before an agent, in its folder. */
export function shadowOf(directory: string): string {
  return join(directory, 'before');
}

/** When the snapshot began; undefined where the file system does not say. */
export function snapshotAt(directory: string): number | undefined {
  const path = shadowOf(directory);
  return statSync(path, { throwIfNoEntry: false })?.birthtimeMs || undefined;
}

export async function removeSnapshot(directory: string): Promise<void> {
  await removeTree(shadowOf(directory));
  await removeTree(join(directory, 'changes.json'));
}

/** Never rejects: git of a killed server may still write into the directory. */
export async function removeTree(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  await rm(path, options).catch(() => undefined);
}
