import {
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statSync,
  symlinkSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Connection } from '../../plugin.ts';
import { writeNew } from '../state/atomic-file.ts';

/** Puts what a connection needs into a worker's own directory. */
export function placeConnection(
  directory: string,
  { files = {}, links = {} }: Pick<Connection, 'files' | 'links'>
): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeNew(path, text);
  }
  // The inner ones first: nothing is ever put through a link.
  const inward = Object.entries(links).sort(([a], [b]) => b.length - a.length);
  for (const [name, target] of inward) link(join(directory, name), target);
}

/** A file of ours stays in place of the user's; folders are put together. */
function link(path: string, target: string): void {
  const theirs = kindOf(statSync(target, { throwIfNoEntry: false }));
  const ours = kindOf(lstatSync(path, { throwIfNoEntry: false }));
  if (theirs === undefined || ours === 'file') return;
  if (ours === undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    symlinkSync(target, path, theirs === 'folder' ? 'junction' : 'file');
  } else if (theirs === 'folder')
    for (const name of readdirSync(target))
      link(join(path, name), join(target, name));
}

function kindOf(stats: Stats | undefined): 'file' | 'folder' | undefined {
  if (!stats) return undefined;
  return stats.isDirectory() ? 'folder' : 'file';
}
