import { closeSync, existsSync, readSync, renameSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errnoOf } from '../../errors.ts';
import type { ViewPaths } from '../../paths/paths.ts';
import type { RecordIdentity } from '../../paths/records.ts';
import { replaceInParts } from '../../state/files/atomic-file.ts';
import { lstatIfExists, namesIn } from '../../state/files/directories.ts';
import { KnownFiles } from '../../state/files/known-files.ts';
import { openRegular, ownReadFlags } from '../../state/files/regular-file.ts';

/** Precedes the record's id in the first lines of every view. */
const viewMark = '> Written by troupe from the record';

/** The record's id is within these bytes, even after a long title. */
const headBytes = 600;

/**
 * Replaces a view atomically. A file that is not a view is first renamed to
 * `<name>.before-troupe.md`, because other programs use these names too. A view
 * of another record is not replaced.
 * @param isWanted called right before the rename; false keeps the old view
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
 * The line of a view that names its record.
 * @param path the path of the view
 * @param stem the view's usual file name without `.md`, which may differ
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

/** The origin of the file at a view's path; `id` is the id of a record. */
type Owner = 'none' | 'another program' | { id: string };

function ownerOf(path: string): Owner {
  const head = viewHead(path);
  if (head === undefined) return 'none';
  const [, id] =
    /^> Written by troupe from the record `([0-9a-f]{8})`/m.exec(head) ?? [];
  return id === undefined ? 'another program' : { id };
}

/** Whether a view was rendered from this record. */
export function isOwnView(path: string, { id }: RecordIdentity): boolean {
  const owner = ownerOf(path);
  return typeof owner === 'object' && owner.id === id;
}

/** False for a view of another record. */
function mayReplace(owner: Owner, { id }: RecordIdentity): boolean {
  return typeof owner === 'string' || owner.id === id;
}

/**
 * The path of a view of this record: `IAC.md`, or `IAC.<user>.md` when `IAC.md`
 * belongs to another record, such as that of a container with its own home.
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

/** The first bytes of a file; undefined when it is missing or empty. */
function viewHead(path: string): string | undefined {
  // `lstat` is cheaper than an `open` that fails.
  if (lstatIfExists(path) === undefined) return undefined;
  return heads.read(path, () => readHead(path));
}

/** A view is replaced whole, at most once a second. */
const heads = new KnownFiles<string | undefined>(8);

function readHead(path: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openRegular(path, ownReadFlags);
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (['ENOENT', 'ENOTDIR'].includes(errno)) return undefined;
    // A symbolic link, or not a regular file.
    if (['ELOOP', 'EISDIR'].includes(errno)) return '';
    throw error;
  }
  try {
    const head = Buffer.alloc(headBytes);
    const bytes = readSync(descriptor, head, 0, headBytes, 0);
    return bytes === 0 ? undefined : head.toString('utf8', 0, bytes);
  } finally {
    closeSync(descriptor);
  }
}

/** Views that were written and should exist. */
interface ExpectedViews {
  /** The names of archive files, without `.md`. */
  archive: string[];
  /** The ids of agents with a page. */
  pages: string[];
}

/** Finds deleted views; costs two stats while their folders are unchanged. */
export class MissingViews {
  readonly #archive: MissingFiles;
  readonly #pages: MissingFiles;

  constructor({ archive, agents }: ViewPaths) {
    // An archive file may have a record's id between its stem and `.md`.
    this.#archive = new MissingFiles(archive, /\..*$/);
    this.#pages = new MissingFiles(agents, /\.md$/);
  }

  expect({ archive, pages }: ExpectedViews): void {
    this.#archive.expect(archive);
    this.#pages.expect(pages);
  }

  find(): ExpectedViews {
    return { archive: this.#archive.find(), pages: this.#pages.find() };
  }
}

/** The files of one folder that should exist, by name without `ending`. */
class MissingFiles {
  readonly #folder: string;
  readonly #ending: RegExp;
  #expected: string[] = [];
  /** That of the folder when all of them existed. */
  #stamp: string | undefined;

  constructor(folder: string, ending: RegExp) {
    this.#folder = folder;
    this.#ending = ending;
  }

  expect(names: string[]): void {
    const known = new Set(this.#expected);
    this.#expected = names;
    if (!names.every((name) => known.has(name))) this.#stamp = undefined;
  }

  find(): string[] {
    const stamp = this.#readStamp();
    if (stamp === this.#stamp) return [];
    const existing = new Set(
      namesIn(this.#folder).map((name) => name.replace(this.#ending, ''))
    );
    const missing = this.#expected.filter((name) => !existing.has(name));
    this.#stamp = missing.length === 0 ? stamp : undefined;
    return missing;
  }

  #readStamp(): string {
    const stats = statSync(this.#folder, { throwIfNoEntry: false });
    return stats ? `${stats.ino} ${stats.mtimeMs}` : '';
  }
}
