import { isUtf8 } from 'node:buffer';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { errnoOf, HostError, storageError } from '../../core/errors.ts';
import { isInside } from '../../core/paths/troupe-home.ts';
import { readRegular } from '../../core/state/regular-file.ts';
import { replaceKept } from '../../core/state/replace-kept.ts';

/** A file as it was, and as it is to be; undefined: no file. */
export interface Change {
  file: string;
  before: string | undefined;
  text: string | undefined;
}

/**
 * The text of a file; undefined when there is none. A project may bring a
 * link to any file of the user's, so its files have to lie inside it.
 * @throws Error when it is none that can be written back as it was
 */
export function settingsIn(
  file: string,
  workspace: string
): string | undefined {
  if (isInside(workspace, file) && isElsewhere(file, workspace))
    throw new Error('is a link that leads outside the project');
  if (!existsSync(file)) {
    // To write there would put a file in the place of somebody's link.
    if (isLink(file)) throw new Error('is a link that leads nowhere');
    return undefined;
  }
  if (!statSync(file).isFile()) throw new Error('is no file');
  const bytes = bytesOf(file);
  if (!isUtf8(bytes)) throw new Error('is no UTF-8 text');
  return bytes.toString();
}

function isElsewhere(file: string, workspace: string): boolean {
  return !isInside(realpathSync(workspace), placeOf(file));
}

function isLink(file: string): boolean {
  try {
    return readlinkSync(file) !== '';
  } catch {
    return false;
  }
}

function bytesOf(file: string): Buffer {
  try {
    return readRegular(file);
  } catch (error) {
    throw new Error(`cannot be read (${errnoOf(error) ?? 'unknown'})`);
  }
}

/**
 * Whether somebody made the file read-only. A new file could take its place
 * all the same, which is not what he wanted.
 */
export function isReadOnly(file: string): boolean {
  if (!existsSync(file)) return false;
  // Root may write everything; what he marked is marked for him, too.
  if ((statSync(file).mode & 0o222) === 0) return true;
  try {
    accessSync(file, constants.W_OK);
    return false;
  } catch {
    return true;
  }
}

/** A file as a person in the project calls it. */
export function shortPath(file: string, workspace: string): string {
  const inside = relative(workspace, file);
  if (!inside.startsWith('..')) return inside;
  const below = relative(homedir(), file);
  return below.startsWith('..') ? file : join('~', below);
}

/** Where a link leads, the file's or that of a folder: there it is written. */
export function linkOf(file: string): string {
  const target = placeOf(file);
  return target === file ? '' : ` -> ${target}`;
}

function placeOf(file: string): string {
  return existsSync(file)
    ? realpathSync(file)
    : join(placeOf(dirname(file)), basename(file));
}

/**
 * Writes the file whole, through a link, with the rights and the owner that
 * it had; or takes it away, with its folder when nothing else is in there.
 * @throws HostError `invalid_input` when it is not what it was,
 *   `storage_unwritable` or `storage_full` when it cannot be written
 */
export function carryOut(
  { file, before, text }: Change,
  workspace: string
): void {
  if (settingsIn(file, workspace) !== before)
    throw new HostError(
      'invalid_input',
      `${file} has changed meanwhile.`,
      'Call it again, to see what would be written now.'
    );
  try {
    if (text === undefined) takeAway(file, workspace);
    else write(file, text);
  } catch (error) {
    throw storageError(error, file, {
      full: 'Free some space and call again.',
      unwritable: 'Check the file and its folder, and who owns them.'
    });
  }
}

function takeAway(file: string, workspace: string): void {
  rmSync(file);
  if (dirname(file) !== workspace) removeEmpty(dirname(file));
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const isNew = !existsSync(file);
  const target = isNew ? file : realpathSync(file);
  const mode = 0o666 & ~process.umask();
  replaceKept(target, text, isNew ? { mode } : statSync(target));
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Others have files in it.
  }
}
