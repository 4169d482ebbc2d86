import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HostError, messageOf } from './core/errors.ts';
import { readIfThere } from './core/state/atomic-file.ts';

/**
 * The configuration as somebody wrote it, undefined in an empty file.
 * cosmiconfig costs start-up time, so it is loaded when there is a file.
 * @throws HostError `config_invalid` when the file cannot be read
 */
export async function readConfigFile(
  workspace: string,
  asked: string | undefined
): Promise<{ file: string | undefined; value: unknown }> {
  if (asked === undefined && !mayHaveConfig(workspace))
    return { file: undefined, value: {} };
  const { cosmiconfig } = await import('cosmiconfig');
  const explorer = cosmiconfig('troupe', {
    searchPlaces: [
      'package.json',
      '.trouperc',
      ...['json', 'yaml', 'yml', 'js', 'mjs', 'cjs'].flatMap((extension) => [
        `.trouperc.${extension}`,
        `.config/trouperc.${extension}`,
        `troupe.config.${extension}`
      ])
    ]
  });
  try {
    const found =
      asked === undefined
        ? await explorer.search(workspace)
        : await explorer.load(resolve(asked));
    return { file: found?.filepath, value: found?.config };
  } catch (error) {
    const reason = withoutFrame(messageOf(error));
    throw new HostError(
      'config_invalid',
      `The configuration in ${asked ?? workspace} cannot be read: ${reason}.`,
      'Mend or remove the file; docs/reference/configuration.md shows every key.'
    );
  }
}

/** A parser's message on one line, without the picture of the place. */
function withoutFrame(message: string): string {
  return message
    .split('\n')
    .filter((line) => !/^\s*(>\s*)?\d*\s*\||^\s*$|^-*\^$/.test(line))
    .map((line) => line.trim())
    .join(' ');
}

function mayHaveConfig(workspace: string): boolean {
  if (namesIn(workspace).some((name) => fileNames.test(name))) return true;
  const inner = namesIn(join(workspace, '.config'));
  if (inner.some((name) => name.startsWith('trouperc'))) return true;
  return (readIfThere(join(workspace, 'package.json')) ?? '').includes(
    '"troupe"'
  );
}

function namesIn(directory: string): string[] {
  const there = statSync(directory, { throwIfNoEntry: false })?.isDirectory();
  return there ? readdirSync(directory) : [];
}

const fileNames =
  /^(\.trouperc(\.(json|ya?ml|js|mjs|cjs))?|troupe\.config\.(json|ya?ml|js|mjs|cjs))$/;
