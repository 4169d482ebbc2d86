import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  renameSync
} from 'node:fs';
import { errnoOf } from '../errors.ts';
import { replaceInParts } from '../state/replace-in-parts.ts';

/** Stands in the first lines of every view, so that we know our own files. */
export const viewMark = '> Written by troupe';

const headBytes = 300;

/**
 * Replaces a view whole. What somebody else wrote under its name is put aside
 * first, as `<name>.before-troupe.md`: the names are used by others, too.
 * @param isWanted asked right before it takes its place
 */
export async function replaceView(
  path: string,
  parts: Iterable<string | Uint8Array>,
  isWanted: () => boolean = () => true
): Promise<void> {
  await replaceInParts(path, parts, () => {
    if (!isWanted()) return false;
    if (!headOf(path).includes(viewMark)) putAside(path);
    return true;
  });
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

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Of a pipe or a terminal, for one, reading would never end. */
const flags = O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0);

/**
 * Of an empty file there is nothing to keep; nor of one that is not there. A
 * link is somebody else's.
 */
function headOf(path: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, flags);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return viewMark;
    if (errnoOf(error) === 'ELOOP') return '';
    throw error;
  }
  try {
    const head = Buffer.alloc(headBytes);
    const bytes = readSync(descriptor, head, 0, headBytes, 0);
    return bytes === 0 ? viewMark : head.toString('utf8');
  } catch (error) {
    // A pipe, which is somebody else's.
    if (errnoOf(error) === 'ESPIPE') return '';
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
