import { basename } from 'node:path';
import type { CliEngine } from '../plugin.ts';
import { nodePackageIn } from './node-package.ts';
import { plainText } from './plain-text.ts';
import type { ProbeOutput } from './probe-program.ts';
import { oneLine } from './text.ts';

/** What a program says of its version. */
export interface ToldVersion {
  /** For people; null when it said nothing. */
  line: string | null;
  /** Such as `1.2.3`; undefined when there is none, or nobody can tell which. */
  release: string | undefined;
}

/**
 * Finds the version among all that a program may say beside it: that it is
 * not the newest, or which Node or Python it runs on.
 */
export function versionIn(
  answer: ProbeOutput,
  engine: Pick<CliEngine, 'command' | 'install'>
): ToldVersion {
  const lines = [answer.stdout, answer.stderr].map(linesOf);
  const telling = lines
    .map((some) => some.filter((line) => releaseIn(line)))
    .find((some) => some.length > 0);
  const line = telling && ownLine(telling, namesOf(engine));
  const shown = line ?? lines.flat()[0];
  return {
    line: shown?.slice(0, 80) ?? null,
    release: line && releaseIn(line)
  };
}

/** The version in a line: `1.2.3`, `1.2.3-rc`. */
export function releaseIn(line: string): string | undefined {
  return release.exec(line)?.[0];
}

function linesOf(output: string): string[] {
  return plainText(output).split('\n').map(oneLine).filter(Boolean);
}

/** Undefined when lines tell different versions and nothing decides. */
function ownLine(lines: string[], names: RegExp[]): string | undefined {
  const own = lines.filter(
    (line) => bare.test(line) || names.some((name) => name.test(line))
  );
  const candidates = own.length > 0 ? own : lines;
  const releases = new Set(candidates.map(releaseIn));
  return releases.size === 1 ? candidates[0] : undefined;
}

/** The names of a program: its own, and that of its package. */
function namesOf({
  command,
  install = ''
}: Pick<CliEngine, 'command' | 'install'>): RegExp[] {
  const names = [command, nodePackageIn(install) ?? command];
  return names.map((name) => {
    const literal = basename(name).replace(/\W/g, '\\$&');
    return new RegExp(`(?<!\\w)${literal}(?!\\w)`, 'i');
  });
}

/** What follows a dash may also be a build, such as a hash. */
const release =
  /(?<![\w.])v?\d+(\.\d+)+(-(alpha|beta|canary|dev|next|nightly|pre|preview|rc)(?![a-z]))?/i;

/** A line that is a version and nothing else. */
const bare = /^v?\d+(\.\d+)+\S*$/i;
