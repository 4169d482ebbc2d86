import { closeSync, existsSync, openSync, readSync, renameSync } from 'node:fs';
import { errnoOf } from '../errors.ts';
import { replaceFile } from '../state/atomic-file.ts';

/** Stands in the first lines of every view, so that we know our own files. */
export const viewMark = '> Written by troupe';

const headBytes = 300;

/**
 * Replaces a view whole. What somebody else wrote under its name is put aside
 * first, as `<name>.before-troupe.md`: the names are used by others, too.
 */
export function replaceView(path: string, text: string): void {
  if (!headOf(path).includes(viewMark)) putAside(path);
  replaceFile(path, text);
}

function putAside(path: string): void {
  const stem = path.replace(/\.md$/, '');
  let aside = `${stem}.before-troupe.md`;
  for (let n = 2; existsSync(aside); n += 1)
    aside = `${stem}.before-troupe-${n}.md`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** Of an empty file there is nothing to keep; nor of one that is not there. */
function headOf(path: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return viewMark;
    throw error;
  }
  try {
    const head = Buffer.alloc(headBytes);
    const bytes = readSync(descriptor, head, 0, headBytes, 0);
    return bytes === 0 ? viewMark : head.toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}
