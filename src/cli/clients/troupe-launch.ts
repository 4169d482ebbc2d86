import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isObject } from '../../config/overrides.ts';
import { packageDirectory } from '../../host/package.ts';
import type { Launch } from './clients.ts';

/**
 * The command line by which clients start this copy of troupe: `npx` and the
 * package name when it was installed from the registry. A clone is started by
 * its path, and so is an unpublished package, whose name may belong to another
 * owner in the registry.
 */
export function troupeLaunch(directory = packageDirectory()): Launch {
  const isInstalled = /[\\/]node_modules[\\/]/.test(directory);
  const name = isInstalled ? publishedName(directory) : undefined;
  const program = join(directory, 'dist', 'troupe.cjs');
  return name === undefined
    ? { command: 'node', args: [program, 'mcp'] }
    : { command: 'npx', args: ['-y', name, 'mcp'] };
}

const metadata = z.object({
  name: z.string(),
  private: z.boolean().optional()
});

/** The name in the registry; undefined while `private` keeps it unpublished. */
function publishedName(directory: string): string | undefined {
  const text = readFileSync(join(directory, 'package.json'), 'utf8');
  const about = metadata.parse(JSON.parse(text));
  return about.private ? undefined : about.name;
}

/** Whether an entry starts troupe, with or without other words. */
export function startsTroupe(entry: unknown): boolean {
  const words = wordsOf(entry);
  const at = words.findIndex((word) => program.test(word));
  return at >= 0 && words[at + 1] === 'mcp';
}

/** A word of a command line that names the program. */
export const program = /(^|[\\/])troupe(@[\w.^~-]+|\.cjs|\.cmd|\.exe)?$/;

/**
 * Whether an entry starts another copy of troupe than `launch` does. A command
 * in a form that `init` does not write is intentional, and not stale.
 */
export function isStale(entry: unknown, launch: Launch): boolean {
  const words = wordsOf(entry);
  const wanted = [launch.command, ...launch.args];
  if (wanted.every((word, at) => words[at] === word)) return false;
  const [command, first = ''] = words;
  return command === 'npx'
    ? /^-y (@[\w.-]+\/)?troupe mcp$/.test(words.slice(1, 4).join(' '))
    : command === 'node' && program.test(first) && words[2] === 'mcp';
}

/**
 * Whether an entry starts exactly this copy of troupe. `init` starts only such
 * an entry without asking: an entry that came with the project may name any
 * program or registry.
 */
export function startsThisTroupe(entry: Record<string, unknown>): boolean {
  const { command, args, env, cwd } = entry;
  const words = wordsOf({ command, args });
  const ours = troupeLaunch();
  const isOurs = [ours.command, ...ours.args].every(
    (word, at) => words[at] === word
  );
  // A value like $NAME hands on the user's own variable of that name.
  const isHarmless = Object.entries(isObject(env) ? env : {}).every(
    ([name, value]) =>
      value === `$${name}` ||
      /^TROUPE_(?!(CONFIG|HOME|TRUST)$)|(KEY|TOKEN)$/.test(name)
  );
  const hasConfig = words.some((word) => /^--(config|trust)\b/.test(word));
  return isOurs && isHarmless && !hasConfig && cwd === undefined;
}

/** The new command line of an entry, with the arguments that the user added. */
export function relaunched(entry: unknown, launch: Launch): Launch {
  const words = wordsOf(entry);
  const more = words.slice(words.indexOf('mcp') + 1);
  return { ...launch, args: [...launch.args, ...more] };
}

/** The command of an entry and its arguments. */
export function wordsOf(entry: unknown): string[] {
  if (!isObject(entry)) return [];
  const { command, args } = entry;
  return [command, ...(Array.isArray(args) ? args : [])].map(String);
}
