import { errnoOf, messageOf } from './core/errors.ts';
import { visibleText } from './core/visible-text.ts';

/**
 * Diagnostics for people, on stderr; stdout belongs to the protocol. They may
 * quote files, programs and agents.
 */
export function log(message: string): void {
  try {
    process.stderr.write(`troupe: ${visibleText(message)}\n`);
  } catch {
    // Nobody reads stderr any more; the work goes on.
  }
}

/** What is not mended may come up every second; it is told so often. */
const againMs = 600_000;
const mostKnown = 200;

/** Tells problems that nobody waits for, each once in a while. */
export function problemTeller(
  tell: (message: string) => void,
  now: () => number = Date.now
): (problem: unknown) => void {
  const toldAt = new Map<string, number>();
  return (problem) => {
    const words = wordsOf(problem);
    const at = toldAt.get(words);
    if (at !== undefined && Math.abs(now() - at) < againMs) return;
    if (toldAt.size >= mostKnown) toldAt.clear();
    toldAt.set(words, now());
    tell(words);
  };
}

export const logProblem = problemTeller(log);

const stale = 'what logs/ says may be out of date';
const disks: Record<string, string> = {
  ENOSPC: `The disk is full (ENOSPC): ${stale}. Free some space.`,
  EDQUOT: `Your quota on the disk is used up (EDQUOT): ${stale}. Free some space.`,
  EROFS: `The disk is read-only (EROFS): ${stale}. Mount it writable, or look on.`
};

/** A bug comes with the way it went. */
function wordsOf(problem: unknown): string {
  const disk = disks[errnoOf(problem) ?? ''];
  if (disk !== undefined) return disk;
  const isBug = problem instanceof TypeError;
  const words = (isBug ? problem.stack : undefined) ?? messageOf(problem);
  // The name that a file has until it is whole tells nobody anything.
  return words.replace(/\.\d+\.[0-9a-f]{12}\.tmp\b/g, '');
}
