import { lstatSync, readFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { isObject } from './config-overrides.ts';
import { errnoOf, HostError, messageOf } from './core/errors.ts';
import { leadsOut } from './core/runs/containment.ts';
import { readIfThere } from './core/state/atomic-file.ts';
import { type Digests, digestOf } from './core/state/digests.ts';
import { readRegular } from './core/state/regular-file.ts';

/** What a configuration file holds. */
export interface Found {
  file: string | undefined;
  /** As it is written; undefined in an empty file. */
  value: unknown;
  /** The file's text; empty without a file. */
  text: string;
}

/** Decides whether a configuration that is code may run. */
export type MayRun = (file: string, text: string) => boolean;

/**
 * The file that is asked for, else the first of the workspace that says
 * something. No other directory is looked into: the working directory may be
 * anybody's. Code that may not run counts as absent.
 * @param mayRun by default no code runs
 * @throws HostError `config_invalid` when the file cannot be read
 */
export async function readConfigFile(
  workspace: string,
  asked: string | undefined,
  mayRun: MayRun = () => false
): Promise<Found> {
  const absent = { file: undefined, value: {}, text: '' };
  if (asked !== undefined) {
    // It may be a pipe of the user's shell.
    const text = (file: string) => readFileSync(file, 'utf8');
    return (await foundIn(resolve(asked), text, mayRun)) ?? absent;
  }
  for (const place of places) {
    const read = place === packageName ? textOfPackage : textIfThere;
    const found = await foundIn(
      join(workspace, place),
      read,
      mayRun,
      workspace
    );
    if (found?.value !== undefined && found.value !== null) return found;
  }
  return absent;
}

/** Whether a configuration file is code. */
export function isCode(file: string): boolean {
  return /^\.[cm]?[jt]s$/.test(extname(file));
}

const keyMark = '#troupe';

/** Whether a digest is that of our key in a package.json. */
export function isKey(name: string): boolean {
  return name.endsWith(`${packageName}${keyMark}`);
}

/**
 * What a change of the file changes. Of a package.json only our key counts:
 * the rest of it changes with every dependency.
 */
export function configDigests({ file, value, text }: Found): Digests {
  if (file === undefined) return {};
  return basename(file) === packageName
    ? { [`${file}${keyMark}`]: digestOf(String(JSON.stringify(value))) }
    : { [file]: digestOf(text) };
}

const packageName = 'package.json';

const places = [
  packageName,
  '.trouperc',
  ...['.trouperc', '.config/trouperc', 'troupe.config'].flatMap((name) =>
    ['json', 'yaml', 'yml', 'js', 'mjs', 'cjs'].map((form) => `${name}.${form}`)
  )
];

/** Undefined where it is code that may not run. */
async function foundIn(
  file: string,
  read: (file: string) => string | undefined,
  mayRun: MayRun,
  workspace?: string
): Promise<Found | undefined> {
  try {
    const found = textOf(file, read);
    // A clone may hold a link to any file of the user's.
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
      'Mend or remove the file; docs/reference/configuration.md shows every key.'
    );
  }
}

/** @throws Error that says in words why somebody's file cannot be read */
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
      return isThere(file) ? nowhere : `it is not there (${code})`;
    case 'ELOOP':
      return nowhere;
    case 'EISDIR':
    case undefined:
      return 'it is no regular file';
    case 'EACCES':
    case 'EPERM':
      return `its permissions keep it from being read (${code})`;
    default:
      return messageOf(error);
  }
}

const nowhere = 'it is a link that leads nowhere';

/** Somebody who put something there did not mean the defaults. */
function textIfThere(file: string): string | undefined {
  const text = readIfThere(file);
  // It throws, and says why.
  return text === undefined && isThere(file)
    ? readRegular(file).toString('utf8')
    : text;
}

/** A link, too, wherever it leads. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch {
    return false;
  }
}

/** A project's own file: it counts only where it speaks of troupe. */
function textOfPackage(file: string): string | undefined {
  try {
    const text = readIfThere(file);
    return text?.includes('"troupe"') ? text : undefined;
  } catch (error) {
    // What is no file has no key; one that is kept from us may have.
    if (['EISDIR', 'ELOOP', undefined].includes(errnoOf(error)))
      return undefined;
    throw error;
  }
}

/**
 * cosmiconfig costs start-up time, so it is loaded when there is a file. Its
 * search is not used: that obeys files of the working directory, too, and
 * runs them.
 */
async function contentOf(file: string, text: string): Promise<unknown> {
  if (text.trim() === '') return undefined;
  const { defaultLoaders } = await import('cosmiconfig');
  const loaders = new Map(Object.entries(defaultLoaders));
  const extension = extname(file);
  const load = loaders.get(extension || 'noExt');
  if (!load) throw new Error(`${extension} is no form of a configuration`);
  // Some editors begin a file with a mark that no parser of JSON takes.
  const plain = text.replace(/^\uFEFF/, '');
  const value: unknown = await load(file, plain);
  if (basename(file) !== packageName) return value;
  return isObject(value) ? value.troupe : undefined;
}

/** A parser's message on one line, without place and picture of it. */
function withoutFrame(message: string): string {
  return message
    .replace(/^\w+ Error in .*:\n/, '')
    .split('\n')
    .filter((line) => !/^\s*(>\s*)?\d*\s*\||^\s*$|^-*\^$/.test(line))
    .map((line) => line.trim())
    .join(' ');
}
