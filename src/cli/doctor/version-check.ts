import { basename } from 'node:path';
import { compareReleases } from '../../core/engines/releases.ts';
import { plainText, terminalLine } from '../../core/text.ts';
import type { CliEngine } from '../../plugin/plugin.ts';
import type { ProbeOutput } from './probe-program.ts';
import { goneFlags } from './program-flags.ts';

/** How a program differs from the releases that its plugin was tested with. */
export interface Drift {
  /** A phrase such as `newer than verified (1.2.3)`. */
  says: string;
  /** Null when the plugin names no tested release. */
  verified: Verified | null;
  /** Flags that runs may need and the program lacks; null when not checked. */
  gone: string[] | null;
}

type Verified = { oldest: string; newest: string };
type Package = Pick<CliEngine, 'command' | 'install'>;

/** Arguments that print the version; undefined when the plugin has none. */
export function versionOf({ probe }: CliEngine): string[] | undefined {
  const { version, verified } = probe ?? {};
  return version ?? (verified && ['--version']);
}

/** Arguments that print help; undefined when the plugin has none. */
export function helpOf({ probe }: CliEngine): string[][] | undefined {
  const { help, verified } = probe ?? {};
  return help ?? (verified && [['--help']]);
}

/**
 * @param release undefined when the program printed none
 * @throws EngineFault when the plugin fails to build its arguments
 */
export function driftOf(
  engine: CliEngine,
  release: string | undefined,
  help: (ProbeOutput | undefined)[]
): Drift | null {
  const asked = helpOf(engine);
  if (!asked) return null;
  const verified = engine.probe?.verified;
  const gone = asked.length === 0 ? null : goneFlags(engine, help);
  const checked = gone !== null || asked.length === 0;
  const says = gone?.length
    ? goneWords(gone)
    : `${rangeOf(verified, release)}${checked ? '' : ', flags not checked'}`;
  return { says, verified: verified ?? null, gone };
}

function rangeOf(
  verified: Verified | undefined,
  installed: string | undefined
): string {
  if (!verified) return 'not verified';
  const { oldest, newest } = verified;
  if (!installed) return 'version unknown';
  if (compareReleases(installed, newest) > 0)
    return `newer than verified (${newest})`;
  return compareReleases(installed, oldest) < 0
    ? `older than verified (${oldest})`
    : 'verified';
}

function goneWords(gone: string[]): string {
  const flags = gone.join(', ');
  return gone.length > 1 ? `flags ${flags} are gone` : `flag ${flags} is gone`;
}

/** A step for the user; undefined when no flag is gone. */
export function driftStep(
  { install, probe }: Pick<CliEngine, 'install' | 'probe'>,
  drift: Drift | null,
  plugin: string
): string | undefined {
  if (!drift?.gone?.length) return undefined;
  const { oldest, newest } = probe?.verified ?? {};
  const range = oldest === newest ? newest : `${oldest} to ${newest}`;
  const other =
    newest && install && npmPackageIn(install)
      ? `install the version that was tested: ${install}@${newest}`
      : `install a version that was tested${newest ? ` (${range})` : ''}.`;
  return `The ${drift.says}, so that runs fail: update ${plugin}, or ${other}`;
}

/** The version that a program printed. */
interface PrintedVersion {
  /** The line to show; null when the program printed nothing. */
  line: string | null;
  /** Such as `1.2.3`; undefined for none, or for several candidates. */
  release: string | undefined;
}

/**
 * Finds the version of a program in its output, which may also name a newer
 * release, or the Node or Python that it runs on.
 */
export function versionIn(
  answer: ProbeOutput,
  engine: Package
): PrintedVersion {
  const lines = [answer.stdout, answer.stderr].map(linesOf);
  const withRelease = lines
    .map((some) => some.filter((line) => releaseIn(line)))
    .find((some) => some.length > 0);
  const line = withRelease && ownLine(withRelease, programNames(engine));
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
  return plainText(output).split('\n').map(terminalLine).filter(Boolean);
}

/**
 * The first line with the program's own version. Lines that name the program,
 * or have only a version, take precedence. Undefined if versions differ.
 */
function ownLine(lines: string[], names: RegExp[]): string | undefined {
  const own = lines.filter(
    (line) => bare.test(line) || names.some((name) => name.test(line))
  );
  const candidates = own.length > 0 ? own : lines;
  const releases = new Set(candidates.map(releaseIn));
  return releases.size === 1 ? candidates[0] : undefined;
}

/** Patterns for the name of a program and that of its package. */
function programNames({ command, install = '' }: Package): RegExp[] {
  return [command, npmPackageIn(install) ?? command].map((name) => {
    const literal = basename(name).replace(/\W/g, '\\$&');
    return new RegExp(`(?<!\\w)${literal}(?!\\w)`, 'i');
  });
}

/** The npm package that a command installs; undefined for other commands. */
function npmPackageIn(install: string): string | undefined {
  return npmInstall.exec(install)?.groups?.name;
}

const npmInstall =
  /^(npm i(nstall)? -g|(pnpm|bun) add -g|yarn global add) (?<name>(@[\w.-]+\/)?[\w.-]+)$/;

/** A suffix after a dash may also be a build id, which is left out. */
const release =
  /(?<![\w.])v?\d+(\.\d+)+(-(alpha|beta|canary|dev|next|nightly|pre|preview|rc)(?![a-z]))?/i;

/** Matches a line that has only a version. */
const bare = /^v?\d+(\.\d+)+\S*$/i;
