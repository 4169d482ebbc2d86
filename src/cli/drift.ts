import { flagsOf } from '../core/engines/flags-of.ts';
import type { CliEngine } from '../plugin.ts';
import { flagsToldIn, isTold } from './help-flags.ts';
import type { ProbeOutput } from './probe-program.ts';
import { compareReleases, releaseIn } from './release.ts';

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

/** What a program was asked, and what it answered. */
export interface Answers {
  version: ProbeOutput | undefined;
  help: (ProbeOutput | undefined)[];
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

/** Null: some are not told, but perhaps only by help that did not come. */
function goneFlags(
  engine: CliEngine,
  unlisted: string[],
  answers: Answers['help']
): string[] | null {
  const flags = flagsOf(engine);
  const told = answers.map((answer) => flagsIn(answer));
  const isMissing = (flag: string) => !told.some((one) => isTold(flag, one));
  const missing = flags.filter(isMissing);
  const gone = missing.filter((flag) => !unlisted.includes(flag));
  if (gone.length === 0) return [];
  const cameAll = answers.every((answer, index) => {
    const here = told[index] ?? new Set();
    return answer?.exitCode === 0
      ? here.size > 0
      : flags.some((flag) => isTold(flag, here));
  });
  // What tells no flag of ours is no help, whatever it is.
  return cameAll && missing.length < flags.length ? gone : null;
}

/** Some print their help to stderr. */
function flagsIn(answer: ProbeOutput | undefined): Set<string> {
  return flagsToldIn(answer ? `${answer.stdout}\n${answer.stderr}` : '');
}

function rangeOf(
  verified: Verified | undefined,
  version: ProbeOutput | undefined
): string {
  if (!verified) return 'not verified';
  const { oldest, newest } = verified;
  const installed =
    version?.exitCode === 0 &&
    (releaseIn(version.stdout) ?? releaseIn(version.stderr));
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
  return install && oneOfNode.test(install)
    ? `${install}@${version}`
    : undefined;
}

/** What puts one package of Node's in place, by its bare name. */
const oneOfNode =
  /^(npm i(nstall)? -g|(pnpm|bun) add -g|yarn global add) (@[\w.-]+\/)?[\w.-]+$/;
