import { errnoOf, messageOf } from '../core/errors.ts';
import { visibleText } from '../core/text.ts';

let isSilent = false;

/** Drops diagnostics from here on: a program reads stderr as a message. */
export function silenceLog(): void {
  isSilent = true;
}

/**
 * Prints diagnostics for people on stderr; stdout belongs to the protocol.
 * Messages may quote files, programs and agents.
 */
export function log(message: string): void {
  if (isSilent) return;
  try {
    process.stderr.write(`troupe: ${visibleText(message)}\n`);
  } catch {
    // stderr is closed, which must not stop the work.
  }
}

/** How often a lasting problem is logged, which may recur every second. */
const repeatMs = 600_000;
const mostKnown = 200;

/** Logs problems of background work, each at most once in ten minutes. */
export function problemLogger(
  print: (message: string) => void,
  now: () => number = Date.now
): (problem: unknown) => void {
  const loggedAt = new Map<string, number>();
  return (problem) => {
    const words = wordsOf(problem);
    const at = loggedAt.get(words);
    if (at !== undefined && Math.abs(now() - at) < repeatMs) return;
    if (loggedAt.size >= mostKnown) loggedAt.clear();
    loggedAt.set(words, now());
    print(words);
  };
}

export const logProblem = problemLogger(log);

const stale = 'what logs/ says may be out of date';
const disks: Record<string, string> = {
  ENOSPC: `The disk is full (ENOSPC): ${stale}. Free some space.`,
  EDQUOT: `Your quota on the disk is used up (EDQUOT): ${stale}. Free some space.`,
  EROFS: `The disk is read-only (EROFS): ${stale}. Mount it writable.`
};

/** The text of a problem; a TypeError is a bug, so its stack is included. */
function wordsOf(problem: unknown): string {
  const disk = disks[errnoOf(problem) ?? ''];
  if (disk !== undefined) return disk;
  const isBug = problem instanceof TypeError;
  const words = (isBug ? problem.stack : undefined) ?? messageOf(problem);
  // A temporary file has another name each time; the problem is the same.
  return words.replace(/\.\d+\.[0-9a-f]{12}\.tmp\b/g, '');
}
