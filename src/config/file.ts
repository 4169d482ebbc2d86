import { lstatSync, readFileSync } from 'node:fs';
import { basename, extname, join, resolve, sep } from 'node:path';
import { errnoOf, HostError, messageOf } from '../core/errors.ts';
import { leadsOut } from '../core/runs/admission/containment.ts';
import { readIfExists } from '../core/state/files/atomic-file.ts';
import { readRegular } from '../core/state/files/regular-file.ts';
import { type Digests, digestOf } from '../core/state/integrity/digests.ts';
import { isObject } from './overrides.ts';

/** A configuration file and its content. */
export interface Found {
  file: string | undefined;
  /** The parsed content; undefined for an empty file. */
  value: unknown;
  /** The file's text; empty without a file. */
  text: string;
}

/** Decides whether a configuration that is code may run. */
type MayRun = (file: string, text: string) => boolean;

/**
 * Reads the named file, or the first file of the workspace with any setting.
 * Other directories are not searched, because another user may own them.
 * Code that may not run counts as absent.
 * @param mayRun by default, no code runs
 * @throws HostError `config_invalid` if the file cannot be read
 */
export async function readConfigFile(
  workspace: string,
  asked: string | undefined,
  mayRun: MayRun = () => false
): Promise<Found> {
  const absent = { file: undefined, value: {}, text: '' };
  if (asked !== undefined) {
    // The file may be a pipe, such as `<(…)` of the user's shell.
    const text = (file: string) => readFileSync(file, 'utf8');
    return (await foundIn(resolve(asked), text, mayRun)) ?? absent;
  }
  for (const path of configPlaces(workspace)) {
    const isPackage = basename(path) === packageName;
    const read = isPackage ? textOfPackage : textIfThere;
    const found = await foundIn(path, read, mayRun, workspace);
    if (found?.value !== undefined && found.value !== null) return found;
  }
  return absent;
}

/** The files of which the first with any setting counts. */
export function configPlaces(workspace: string, asked?: string): string[] {
  if (asked !== undefined) return [resolve(asked)];
  // `join` would normalize the workspace again for each name.
  const start = join(workspace, sep);
  return names.map((name) => start + name);
}

export function isCode(file: string): boolean {
  return /^\.[cm]?[jt]s$/.test(extname(file));
}

const keyMark = '#troupe';

/** Whether a digest's name stands for our key in a package.json. */
export function isKey(name: string): boolean {
  return name.endsWith(`${packageName}${keyMark}`);
}

/**
 * The digest of the file. In a package.json only our key counts, because the
 * rest changes with every dependency.
 */
export function configDigests({ file, value, text }: Found): Digests {
  if (file === undefined) return {};
  return basename(file) === packageName
    ? { [`${file}${keyMark}`]: digestOf(String(JSON.stringify(value))) }
    : { [file]: digestOf(text) };
}

const packageName = 'package.json';

const names = [
  packageName,
  '.trouperc',
  ...['.trouperc', '.config/trouperc', 'troupe.config'].flatMap((name) =>
    ['json', 'yaml', 'yml', 'js', 'mjs', 'cjs'].map((form) => `${name}.${form}`)
  )
];

/** Undefined for code that may not run. */
async function foundIn(
  file: string,
  read: (file: string) => string | undefined,
  mayRun: MayRun,
  workspace?: string
): Promise<Found | undefined> {
  try {
    const found = textOf(file, read);
    // A cloned repository may contain a link to any file of the user.
    if (found !== undefined && workspace && leadsOut(workspace, file))
      throw new Error(
        'it is a link that leads outside the workspace; name that file with --config instead'
      );
    const text = found ?? '';
    const isRefused = text !== '' && isCode(file) && !mayRun(file, text);
    if (isRefused) return undefined;
    return { file, value: await contentOf(file, text), text };
  } catch (error) {
    const reason = withoutFrame(messageOf(error));
    throw new HostError(
      'config_invalid',
      `The configuration in ${file} cannot be read: ${reason}.`,
      'Correct or remove the file; docs/reference/configuration.md shows every key.'
    );
  }
}

/** @throws Error that describes why the file cannot be read */
function textOf(
  file: string,
  read: (file: string) => string | undefined
): string | undefined {
  try {
    return read(file);
  } catch (error) {
    throw new Error(whyUnreadable(file, error));
  }
}

function whyUnreadable(file: string, error: unknown): string {
  const code = errnoOf(error);
  switch (code) {
    case 'ENOENT':
      return isThere(file) ? nowhere : `it does not exist (${code})`;
    case 'ELOOP':
      return nowhere;
    case 'EISDIR':
    case undefined:
      return 'it is not a regular file';
    case 'EACCES':
    case 'EPERM':
      return `its permissions keep it from being read (${code})`;
    default:
      return messageOf(error);
  }
}

const nowhere = 'it is a link that leads nowhere';

/** An unreadable file is an error, because it may contain settings. */
function textIfThere(file: string): string | undefined {
  const text = readIfExists(file);
  // `readRegular` throws the reason.
  return text === undefined && isThere(file)
    ? readRegular(file).toString('utf8')
    : text;
}

/** Also true for a broken link. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch {
    return false;
  }
}

/** The project's own package.json counts only if it mentions troupe. */
function textOfPackage(file: string): string | undefined {
  try {
    const text = readIfExists(file);
    return text?.includes('"troupe"') ? text : undefined;
  } catch (error) {
    // Only a regular file can have our key, even if it is unreadable.
    if (['EISDIR', 'ELOOP', undefined].includes(errnoOf(error)))
      return undefined;
    throw error;
  }
}

/**
 * cosmiconfig costs start-up time, so it is loaded only for a file. Its search
 * is not used, because it also runs files of the working directory.
 */
async function contentOf(file: string, text: string): Promise<unknown> {
  if (text.trim() === '') return undefined;
  const { defaultLoaders } = await import('cosmiconfig');
  const loaders = new Map(Object.entries(defaultLoaders));
  const extension = extname(file);
  const load = loaders.get(extension || 'noExt');
  if (!load) throw new Error(`${extension} is not a format of configurations`);
  // Some editors write a byte order mark, which JSON parsers refuse.
  const plain = text.replace(/^\uFEFF/, '');
  const value: unknown = await load(file, plain);
  if (!isCode(file)) checkCount(value);
  if (basename(file) !== packageName) return value;
  return isObject(value) ? value.troupe : undefined;
}

/** Objects and lists; more than any configuration has. */
const mostParts = 100_000;

/**
 * Aliases of YAML can make billions of values, or a value within itself, out of
 * a few lines. To look at them all would take for ever.
 * @throws Error
 */
function checkCount(value: unknown): void {
  const parts: unknown[] = [Object(value)];
  for (const part of parts)
    for (const inner of Object.values(Object(part)))
      if (typeof inner === 'object' && parts.push(inner) > mostParts)
        throw new Error(`it has more than ${mostParts} objects and lists`);
}

/** A parser's message on one line, without the excerpt of the file. */
function withoutFrame(message: string): string {
  return message
    .replace(/^\w+ Error in .*:\n/, '')
    .split('\n')
    .filter((line) => !/^\s*(>\s*)?\d*\s*\||^\s*$|^-*\^$/.test(line))
    .map((line) => line.trim())
    .join(' ');
}
