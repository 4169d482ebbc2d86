import { createProcesses } from '../../adapters/child-process/processes.ts';
import { surveyTrust } from '../../config/config.ts';
import { type Asked, grantsOf, type Trust } from '../../config/trust.ts';
import { HostError } from '../../core/errors.ts';
import { CallerContext } from '../../core/runs/admission/caller-context.ts';
import type { Digests } from '../../core/state/integrity/digests.ts';
import { terminalLine } from '../../core/text.ts';
import { distDirectory } from '../../host/package.ts';
import { counted } from '../output/text.ts';
import type { SetUpContext } from './dialog.ts';

/** Undefined for an invalid configuration, which other checks report. */
export async function currentTrust(
  workspace: string
): Promise<Trust | undefined> {
  try {
    return await surveyTrust({ workspace });
  } catch (error) {
    if (error instanceof HostError) return undefined;
    throw error;
  }
}

/**
 * Keeps a trusted workspace trusted after `init` has changed its files. Shows
 * all other settings that need trust, and grants them only if the user agrees.
 */
export async function updateTrust(
  before: Trust | undefined,
  written: string[],
  { workspace, flags, screen, questions }: SetUpContext
): Promise<void> {
  const now = await currentTrust(workspace);
  if (!now || now.leftOut.length === 0) return;
  if (before && isOurChange(before, now, written)) {
    grant(workspace, now);
    return;
  }
  const lines = askedLines(now.leftOut).trimEnd().split('\n');
  await screen.show('This workspace asks for what needs your trust:', lines);
  if (questions && !flags.dryRun && (await questions.trust())) {
    grant(workspace, now);
    screen.good('trusted');
    return;
  }
  const settings = counted(now.leftOut.length, 'setting');
  screen.warn(
    `not trusted: ${settings} of this workspace are left out until you run: troupe trust`
  );
}

/** @throws HostError when an agent calls this, or grants cannot be written */
export function grant(workspace: string, found: Pick<Trust, 'asked'>): void {
  const nothing = () => undefined;
  const store = {
    recordOf: nothing,
    outcomeOf: nothing,
    openIds: () => [],
    directoryOf: (id: string) => id
  };
  const processes = createProcesses(distDirectory());
  if (new CallerContext({ store, processes }).depth > 0)
    throw new HostError(
      'invalid_input',
      'An agent cannot trust a workspace.',
      'The user runs "troupe trust" in a terminal that no agent has opened.'
    );
  grantsOf(workspace, process.env).add(workspace, digestsOfAll(found));
}

/**
 * Prints each setting that a workspace asks for on a line. The text is safe
 * for a terminal and never cut: the hidden part could be the one that matters.
 */
export function askedLines(asked: Asked[]): string {
  const isMixed = asked.some(({ isGranted }) => !isGranted);
  return asked
    .map(({ setting, allows, isGranted }) => {
      const state = isMixed && isGranted ? ' (trusted)' : '';
      return `  ${setting}: ${terminalLine(allows)}${state}\n`;
    })
    .join('');
}

/** True when each setting was trusted, or comes from a file just written. */
function isOurChange(before: Trust, now: Trust, written: string[]): boolean {
  if (before.asked.length === 0 || before.leftOut.length > 0) return false;
  const known = digestsOfAll(before);
  const ours = written.flatMap((file) => [file, `${file}#troupe`]);
  return now.leftOut
    .flatMap(({ digests }) => Object.entries(digests))
    .every(([file, digest]) => known[file] === digest || ours.includes(file));
}

/** Digests of the content that the user has seen; only this is granted. */
function digestsOfAll({ asked }: Pick<Trust, 'asked'>): Digests {
  return Object.assign({}, ...asked.map(({ digests }) => digests));
}
