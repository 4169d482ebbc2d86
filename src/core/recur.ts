/**
 * Does something again and again, with a pause before each. Does not keep the
 * process alive.
 * @returns what ends it
 */
export function recur(pauseMs: number, work: () => Promise<void>): () => void {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const later = () => {
    if (ended) return;
    timer = setTimeout(() => void work().then(later), pauseMs);
    timer.unref();
  };
  later();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
