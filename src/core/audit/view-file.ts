import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  renameSync
} from 'node:fs';
import { basename, join } from 'node:path';
import { errnoOf } from '../errors.ts';
import type { RecordIdentity } from '../paths/identity.ts';
import { lookAt } from '../state/directories.ts';
import { replaceInParts } from '../state/replace-in-parts.ts';

/** Stands in the first lines of every view, before the id of its record. */
const viewMark = '> Written by troupe from the record';

/** Within these every view names its record, a page after a long title. */
const headBytes = 600;

/**
 * Replaces a view whole. A file that is no view of a record is put aside
 * first, as `<name>.before-troupe.md`: other programs use these names, too. A
 * view of another record is left where it is.
 * @param isWanted asked right before it takes its place
 */
export async function replaceView(
  path: string,
  parts: Iterable<string | Uint8Array>,
  identity: RecordIdentity,
  isWanted: () => boolean = () => true
): Promise<void> {
  await replaceInParts(path, parts, () => {
    const owner = ownerOf(path);
    if (!mayReplace(owner, identity) || !isWanted()) return false;
    if (owner === 'another program') putAside(path);
    return true;
  });
}

/**
 * The lines in which a view names the record that it was made from.
 * @param path where it is written, which may not be its usual name
 */
export function markOf(
  path: string,
  stem: string,
  { id, user }: RecordIdentity
): string {
  const mark = `${viewMark} \`${id}\` of ${user}; changes made here are lost.`;
  const usual = `${stem}.md`;
  return basename(path) === usual
    ? mark
    : `${mark} \`${usual}\` in this folder was made from another record.`;
}

/** Whose view a file is, by its first lines. */
type Owner = 'none' | 'another program' | { id: string };

function ownerOf(path: string): Owner {
  const head = viewHead(path);
  if (head === undefined) return 'none';
  const [, id] =
    /^> Written by troupe from the record `([0-9a-f]{8})`/m.exec(head) ?? [];
  return id === undefined ? 'another program' : { id };
}

/** True for a view that was made from this record. */
export function isOwnView(path: string, { id }: RecordIdentity): boolean {
  const owner = ownerOf(path);
  return typeof owner === 'object' && owner.id === id;
}

/** False for a view that was made from another record, which stays. */
function mayReplace(owner: Owner, { id }: RecordIdentity): boolean {
  return typeof owner === 'string' || owner.id === id;
}

/**
 * Where a view of this record lies: `IAC.md`, or `IAC.<user>.md` where that is
 * made from another record, such as that of a container with its own home.
 */
export function viewPath(
  directory: string,
  stem: string,
  identity: RecordIdentity
): string {
  const { id, user } = identity;
  const paths = ['', `.${user}`, `.${user}-${id}`].map((ending) =>
    join(directory, `${stem}${ending}.md`)
  );
  const [plain = ''] = paths;
  return (
    paths.find((path) => isOwnView(path, identity)) ??
    paths.find((path) => mayReplace(ownerOf(path), identity)) ??
    plain
  );
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

/** The first bytes of a view; undefined where there is nothing to keep. */
function viewHead(path: string): string | undefined {
  // To look costs a tenth of an open that fails; a link counts as it is.
  if (lookAt(path) === undefined) return undefined;
  let descriptor: number;
  try {
    descriptor = openSync(path, flags);
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (['ENOENT', 'ENOTDIR'].includes(errno)) return undefined;
    if (errno === 'ELOOP') return '';
    throw error;
  }
  try {
    const head = Buffer.alloc(headBytes);
    const bytes = readSync(descriptor, head, 0, headBytes, 0);
    return bytes === 0 ? undefined : head.toString('utf8', 0, bytes);
  } catch (error) {
    // A pipe or a directory.
    if (['ESPIPE', 'EISDIR'].includes(errnoOf(error) ?? '')) return '';
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
