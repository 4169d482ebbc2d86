import { compareReleases } from '../core/engines/compare-releases.ts';
import type { CliEngine } from '../plugin.ts';
import { flagsOf } from './flags-of.ts';
import { flagsToldIn, isTold, withoutValue } from './help-flags.ts';
import { nodePackageIn } from './node-package.ts';
import type { ProbeOutput } from './probe-program.ts';

/** How a program compares with those that its plugin was tested with. */
export interface Drift {
  /** In words, such as `newer than verified (1.2.3)`. */
  says: string;
  /** Null: with none. */
  verified: Verified | null;
  /** Flags that its runs may need and it no longer has; null: not checked. */
  gone: string[] | null;
}

type Verified = { oldest: string; newest: string };
type Probe = NonNullable<CliEngine['probe']>;

/** What a program said of itself. */
export interface Answers {
  /** Undefined: none that can be read. */
  version: string | undefined;
  help: (ProbeOutput | undefined)[];
}

/** Arguments that print the version; undefined when the plugin has none. */
export function versionOf({ probe }: CliEngine): string[] | undefined {
  const { version, verified } = probe ?? {};
  return version ?? (verified && ['--version']);
}

/** Arguments that print help; undefined when the plugin tells nothing. */
export function helpOf({ probe }: CliEngine): string[][] | undefined {
  const { help, verified } = probe ?? {};
  return help ?? (verified && [['--help']]);
}

/** @throws EngineFault when the plugin cannot say its arguments */
export function driftOf(
  engine: CliEngine,
  { version, help }: Answers
): Drift | null {
  const { verified, unlisted = [] } = engine.probe ?? {};
  const asked = helpOf(engine);
  if (!asked) return null;
  const gone = asked.length === 0 ? null : goneFlags(engine, unlisted, help);
  const checked = gone !== null || asked.length === 0;
  const range = rangeOf(verified, version);
  const says = gone?.length
    ? goneWords(gone)
    : `${range}${checked ? '' : ', flags not checked'}`;
  return { says, verified: verified ?? null, gone };
}

/**
 * Null: some are not told, but perhaps only because what came is not the
 * whole help, or is none: an error may name a flag or two, as well.
 */
function goneFlags(
  engine: CliEngine,
  unlisted: string[],
  answers: Answers['help']
): string[] | null {
  const told = answers.map(flagsIn);
  const working = new Set(unlisted);
  const flags = flagsOf(engine).filter((flag) => !isTold(flag, working));
  const isGone = (flag: string) => !told.some((one) => isTold(flag, one));
  const gone = namesOf(flags.filter(isGone));
  if (gone.length === 0) return [];
  const isWhole =
    answers.every((answer) => answer && !answer.isCut) &&
    told.every((one) => one.size > 0);
  const isHelp = gone.length < namesOf(flags).length / 2;
  return isWhole && isHelp ? gone : null;
}

function namesOf(flags: string[]): string[] {
  return [...new Set(flags.map(withoutValue))];
}

/** Some print their help to stderr. What fails has printed no help. */
function flagsIn(answer: ProbeOutput | undefined): Set<string> {
  if (answer?.exitCode !== 0) return new Set();
  return flagsToldIn(`${answer.stdout}\n${answer.stderr}`);
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

/** What to do about flags that are gone: who wrote the plugin can mend it. */
export function mendDrift(
  { install, probe }: Pick<CliEngine, 'install' | 'probe'>,
  drift: Drift | null,
  plugin: string
): string | undefined {
  if (!drift?.gone?.length) return undefined;
  const verified = probe?.verified;
  const command = verified && installOf(install, verified.newest);
  const other = command
    ? `install the version that was tested: ${command}`
    : `install a version that was tested${rangeWords(probe)}.`;
  return `The ${drift.says}, so that runs fail: update ${plugin}, or ${other}`;
}

function rangeWords(probe: Probe | undefined): string {
  const { oldest, newest } = probe?.verified ?? {};
  if (!newest) return '';
  return oldest === newest ? ` (${newest})` : ` (${oldest} to ${newest})`;
}

function installOf(
  install: string | undefined,
  version: string
): string | undefined {
  return install && nodePackageIn(install)
    ? `${install}@${version}`
    : undefined;
}
