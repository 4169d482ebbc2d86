import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { absolute } from './take-tree.ts';

/** A path that a patch changes; paths have one character per byte. */
export interface PathChange {
  path: string;
  /** The mode and object in the index, all zeros for a new path. */
  before: string;
  isNew: boolean;
  isRemoved: boolean;
}

/**
 * What stands where a patch creates a file or a directory, and is not tracked:
 * git would notice it only after it has changed other files.
 */
export async function inTheWay(
  top: string,
  changes: PathChange[]
): Promise<string[]> {
  const removed = new Set(
    changes.filter(({ isRemoved }) => isRemoved).map(({ path }) => path)
  );
  const emptied = new Set([...removed].flatMap(parentsOf));
  const found = new Set<string>();
  const leftIn = async (directory: string) => {
    if (!emptied.has(directory)) return found.add(`${directory}/`);
    const options = { withFileTypes: true, encoding: 'latin1' } as const;
    for (const entry of await readdir(absolute(top, directory), options)) {
      const path = `${directory}/${entry.name}`;
      if (removed.has(path)) continue;
      if (entry.isDirectory()) await leftIn(path);
      else found.add(path);
    }
    return found;
  };
  for (const { path, isNew, isRemoved } of changes) {
    if (isRemoved) continue;
    const above = await nonDirectoriesOn(top, path);
    for (const parent of above) if (!removed.has(parent)) found.add(parent);
    if (!isNew || above.length > 0) continue;
    const there = await entryAt(top, path);
    if (there?.isDirectory()) await leftIn(path);
    else if (there) found.add(path);
  }
  return [...found];
}

/** The parents of a path, from the top down. */
export function parentsOf(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

/** What is at a path; undefined if that is unknown or nothing. */
export function entryAt(top: string, path: string): Promise<Stats | undefined> {
  return lstat(absolute(top, path)).catch(() => undefined);
}

/** The first parent of a path that is there but is no directory. */
async function nonDirectoriesOn(top: string, path: string): Promise<string[]> {
  for (const parent of parentsOf(path)) {
    const entry = await entryAt(top, parent);
    if (!entry) return [];
    if (!entry.isDirectory()) return [parent];
  }
  return [];
}
