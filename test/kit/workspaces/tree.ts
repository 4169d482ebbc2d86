import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../../src/core/state/files/directories.ts';
import type { TempWorkspace } from './temp-workspace.ts';

export interface Entry {
  /** Below the root, `.` for the root itself. */
  path: string;
  kind: 'directory' | 'file' | 'link' | 'other';
  /** Of permissions only. */
  mode: number;
}

/** All there is at and below a path; links are not followed. */
export function treeOf(root: string, path = '.'): Entry[] {
  const place = join(root, path);
  const stats = lstatSync(place, { throwIfNoEntry: false });
  // It may have gone since its directory was listed.
  if (!stats) return [];
  const kind = stats.isDirectory()
    ? 'directory'
    : stats.isSymbolicLink()
      ? 'link'
      : stats.isFile()
        ? 'file'
        : 'other';
  const own: Entry = { path, kind, mode: stats.mode & 0o7777 };
  if (kind !== 'directory') return [own];
  const below = namesIn(place).sort();
  return [own, ...below.flatMap((name) => treeOf(root, join(path, name)))];
}

/** Changes with anything that is written to, made in or taken from a tree. */
export function printOf(root: string): string[] {
  return treeOf(root).map(({ path, kind, mode }) => {
    const place = join(root, path);
    const { mtimeNs } = lstatSync(place, { bigint: true });
    const content =
      kind === 'file'
        ? createHash('sha256').update(readFileSync(place)).digest('hex')
        : kind === 'link'
          ? readlinkSync(place)
          : '';
    return [path, kind, mode.toString(8), mtimeNs, content].join(' ');
  });
}

/** The same of a user's home, without the record of troupe. */
export function printOfHome({ home }: Pick<TempWorkspace, 'home'>): string[] {
  return readdirSync(home)
    .filter((name) => name !== '.troupe')
    .flatMap((name) => printOf(join(home, name)));
}
