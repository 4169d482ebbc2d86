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
import { replaceKeepingAttributes } from '../../core/state/files/atomic-file.ts';
import { readRegular } from '../../core/state/files/regular-file.ts';

/** The old and the new text of a file; undefined stands for no file. */
export interface Change {
  file: string;
  before: string | undefined;
  text: string | undefined;
}

/**
 * The text of a file; undefined when there is none. A project may contain a
 * link to any file of the user, so links must not lead outside the project.
 * @throws Error when the file cannot be written back unchanged
 */
export function settingsIn(
  file: string,
  workspace: string
): string | undefined {
  if (
    isInside(workspace, file) &&
    !isInside(realpathSync(workspace), targetOf(file))
  )
    throw new Error('is a link that leads outside the project');
  if (!existsSync(file)) {
    // A write would replace the link with a file.
    if (isLink(file)) throw new Error('is a link that leads nowhere');
    return undefined;
  }
  if (!statSync(file).isFile()) throw new Error('is not a file');
  const bytes = bytesOf(file);
  if (!isUtf8(bytes)) throw new Error('is not UTF-8 text');
  return bytes.toString();
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

/** A read-only file stays as it is, although a rename could replace it. */
export function isReadOnly(file: string): boolean {
  if (!existsSync(file)) return false;
  // For root, `accessSync` allows every write: the mode has to be checked.
  if ((statSync(file).mode & 0o222) === 0) return true;
  try {
    accessSync(file, constants.W_OK);
    return false;
  } catch {
    return true;
  }
}

/** The path relative to the project, else to the home directory, if inside. */
export function shortPath(file: string, workspace: string): string {
  const inside = relative(workspace, file);
  if (!inside.startsWith('..')) return inside;
  const inHome = relative(homedir(), file);
  return inHome.startsWith('..') ? file : join('~', inHome);
}

/** ` -> target` when the file or one of its folders is a link, else ''. */
export function linkOf(file: string): string {
  const target = targetOf(file);
  return target === file ? '' : ` -> ${target}`;
}

function targetOf(file: string): string {
  return existsSync(file)
    ? realpathSync(file)
    : join(targetOf(dirname(file)), basename(file));
}

/**
 * Replaces the file, or the target of a link, and keeps its mode and owner.
 * Without a new text, removes the file, and its folder if that is then empty.
 * @throws HostError `invalid_input` when the file has changed meanwhile,
 *   `storage_unwritable` or `storage_full` when it cannot be written
 */
export function carryOut(
  { file, before, text }: Change,
  workspace: string
): void {
  if (settingsIn(file, workspace) !== before)
    throw new HostError(
      'invalid_input',
      `${file} has changed since it was read.`,
      'Call it again to see what would be written now.'
    );
  try {
    if (text === undefined) remove(file, workspace);
    else write(file, text);
  } catch (error) {
    throw storageError(error, file, {
      full: 'Free some space and call again.',
      unwritable:
        'Check the permissions and the owner of the file and its folder.'
    });
  }
}

function remove(file: string, workspace: string): void {
  rmSync(file);
  if (dirname(file) === workspace) return;
  try {
    rmdirSync(dirname(file));
  } catch {
    // The folder has other files.
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const isNew = !existsSync(file);
  const target = isNew ? file : realpathSync(file);
  const mode = 0o666 & ~process.umask();
  replaceKeepingAttributes(target, text, isNew ? { mode } : statSync(target));
}
