import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for something outside of this process that sends no event: a file of
 * another program, the end of a process. Gives what was seen.
 * @throws when it has not come in time
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 30_000
): Promise<T> {
  const ends = performance.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > ends)
      throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await delay(10);
  }
}
