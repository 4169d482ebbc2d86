import { surveyTrust } from '../../config.ts';
import { HostError } from '../../core/errors.ts';
import type { Trust } from '../../trust/trust.ts';
import { grant } from '../commands/trust.ts';
import { counted } from '../text.ts';
import { askedLines, digestsOfAll } from '../trust-report.ts';
import type { SetUpContext } from './set-up.ts';

/** Undefined where the configuration is not valid: its fault shows elsewhere. */
export async function trustNow(workspace: string): Promise<Trust | undefined> {
  try {
    return await surveyTrust({ workspace });
  } catch (error) {
    if (error instanceof HostError) return undefined;
    throw error;
  }
}

/**
 * A workspace that was trusted stays so with what was written here. What it
 * asked for before is shown, and granted only by a person's answer.
 */
export async function settleTrust(
  before: Trust | undefined,
  written: string[],
  { workspace, flags, screen, questions }: SetUpContext
): Promise<void> {
  const now = await trustNow(workspace);
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

/** All of it was trusted before but for the files that were just written. */
function isOurChange(before: Trust, now: Trust, written: string[]): boolean {
  if (before.asked.length === 0 || before.leftOut.length > 0) return false;
  const known = digestsOfAll(before);
  const ours = written.flatMap((file) => [file, `${file}#troupe`]);
  return now.leftOut
    .flatMap(({ digests }) => Object.entries(digests))
    .every(([file, digest]) => known[file] === digest || ours.includes(file));
}
