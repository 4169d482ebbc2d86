import { constants, type Stats } from 'node:fs';
import {
  copyFile,
  mkdir,
  readlink,
  rm,
  rmdir,
  symlink,
  utimes
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { entryAt, parentsOf } from './in-the-way.ts';
import { absolute } from './take-tree.ts';

/** Copies of files that git is about to write. */
export interface KeptFiles {
  top: string;
  entries: KeptEntry[];
  /** Directories that do not exist yet, parents first. */
  missing: string[];
}

interface KeptEntry {
  path: string;
  stats: Stats | undefined;
  copy: string;
}

/** Copies what is at the paths into a new folder. */
export async function keepFiles(
  top: string,
  paths: string[],
  folder: string
): Promise<KeptFiles> {
  await mkdir(folder, { mode: 0o700 });
  const entries: KeptEntry[] = [];
  const missing = new Set<string>();
  for (const path of paths) {
    const stats = await entryAt(top, path);
    const copy = join(folder, String(entries.length));
    entries.push({ path, stats, copy });
    if (hasCopy(stats)) await copyEntry(absolute(top, path), copy, stats);
    for (const parent of parentsOf(path))
      if (!(await entryAt(top, parent))?.isDirectory()) missing.add(parent);
  }
  return { top, entries, missing: [...missing] };
}

/**
 * Restores the files that were written since.
 * @returns the paths that could not be restored
 */
export async function putBack(kept: KeptFiles): Promise<string[]> {
  const { top, entries, missing } = kept;
  const failed = new Set<string>();
  const touched: KeptEntry[] = [];
  for (const entry of entries)
    if (isTouched(entry, await entryAt(top, entry.path))) touched.push(entry);
  const each = async (
    chosen: KeptEntry[],
    restore: (entry: KeptEntry, to: Buffer) => Promise<unknown>
  ) => {
    for (const entry of chosen)
      try {
        await restore(entry, absolute(top, entry.path));
      } catch {
        failed.add(entry.path);
      }
  };
  // First, because a new file may stand where a directory was.
  await each(
    touched.filter(({ stats }) => !hasCopy(stats)),
    async ({ path }, at) =>
      (await entryAt(top, path))?.isDirectory()
        ? await rmdir(at)
        : await rm(at, { force: true })
  );
  for (const directory of missing.reverse())
    await rmdir(absolute(top, directory)).catch(() => undefined);
  await each(touched, async ({ path, stats, copy }, to) => {
    if (!hasCopy(stats)) return;
    await mkdir(absolute(top, dirname(path)), { recursive: true });
    await rm(to, { force: true });
    await copyEntry(copy, to, stats);
  });
  return [...failed];
}

function hasCopy(stats: Stats | undefined): stats is Stats {
  return stats !== undefined && (stats.isFile() || stats.isSymbolicLink());
}

async function copyEntry(
  from: string | Buffer,
  to: string | Buffer,
  stats: Stats
): Promise<void> {
  if (stats.isSymbolicLink())
    return symlink(await readlink(from, { encoding: 'buffer' }), to);
  const { COPYFILE_EXCL, COPYFILE_FICLONE } = constants;
  await copyFile(from, to, COPYFILE_EXCL | COPYFILE_FICLONE);
  await utimes(to, stats.atime, stats.mtime);
}

function isTouched({ stats }: KeptEntry, now: Stats | undefined): boolean {
  if (!stats || !now) return stats !== now;
  if (stats.isDirectory()) return !now.isDirectory();
  return (['ino', 'mode', 'size', 'mtimeMs', 'ctimeMs'] as const).some(
    (name) => stats[name] !== now[name]
  );
}
