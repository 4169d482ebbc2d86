import { readFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { isObject } from './config-overrides.ts';
import { HostError, messageOf } from './core/errors.ts';
import { readIfThere } from './core/state/atomic-file.ts';

interface Found {
  file: string | undefined;
  /** As somebody wrote it; undefined in an empty file. */
  value: unknown;
}

/**
 * The file that is asked for, else the first of the workspace that says
 * something. No other directory is looked into: the working directory may be
 * anybody's.
 * @throws HostError `config_invalid` when the file cannot be read
 */
export async function readConfigFile(
  workspace: string,
  asked: string | undefined
): Promise<Found> {
  if (asked !== undefined) {
    // It may be a pipe of the user's shell.
    const text = (file: string) => readFileSync(file, 'utf8');
    return readWith(text, resolve(asked));
  }
  for (const place of places) {
    const found = await readWith(textIfThere, join(workspace, place));
    if (found.value !== undefined && found.value !== null) return found;
  }
  return { file: undefined, value: {} };
}

const places = [
  'package.json',
  '.trouperc',
  ...['.trouperc', '.config/trouperc', 'troupe.config'].flatMap((name) =>
    ['json', 'yaml', 'yml', 'js', 'mjs', 'cjs'].map((form) => `${name}.${form}`)
  )
];

async function readWith(
  textOf: (file: string) => string | undefined,
  file: string
): Promise<Found> {
  try {
    return { file, value: await contentOf(file, textOf(file) ?? '') };
  } catch (error) {
    const reason = withoutFrame(messageOf(error));
    throw new HostError(
      'config_invalid',
      `The configuration in ${file} cannot be read: ${reason}.`,
      'Mend or remove the file; docs/reference/configuration.md shows every key.'
    );
  }
}

/** The file of a project counts only where it speaks of troupe. */
function textIfThere(file: string): string | undefined {
  const text = readIfThere(file);
  return isPackage(file) && !text?.includes('"troupe"') ? undefined : text;
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
  const value: unknown = await load(file, text);
  if (!isPackage(file)) return value;
  return isObject(value) ? value.troupe : undefined;
}

function isPackage(file: string): boolean {
  return basename(file) === 'package.json';
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
