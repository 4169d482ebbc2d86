import { messageOf } from './errors.ts';

/**
 * Does something again and again, with a pause before each. Does not keep the
 * process alive. What fails once is done again all the same.
 * @param onProblem told of each failure that is not the one before
 * @returns what ends it
 */
export function recur(
  pauseMs: number,
  work: () => Promise<void>,
  onProblem: (problem: unknown) => void
): () => void {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  let told = '';
  const tell = (problem: unknown) => {
    const words = messageOf(problem);
    if (words !== told) onProblem(problem);
    told = words;
  };
  const later = () => {
    if (ended) return;
    timer = setTimeout(() => void work().catch(tell).then(later), pauseMs);
    timer.unref();
  };
  later();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
