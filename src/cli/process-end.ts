import { errnoOf, messageOf } from '../core/errors.ts';
import { awaitThreads, endNow } from '../end-process.ts';
import { tell } from './output.ts';

/** For what threads do yet, when nothing asked this process to end. */
const threadsMs = 2000;
/** From the first signal to the end, whatever a command waits for. */
const interruptedMs = 4500;

/** By `performance.now()`; undefined until a signal comes. */
let endsBy: number | undefined;

/** Ends the process when all that was written has been taken. */
export async function exitWith(code: number): Promise<never> {
  process.exitCode = code;
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  const leftMs = (endsBy ?? Number.POSITIVE_INFINITY) - performance.now();
  await awaitThreads(Math.min(threadsMs, leftMs));
  if (endsBy !== undefined) endNow(code);
  // A thread that never ends holds up the end: then a signal still ends us.
  for (const name of Object.keys(signals)) process.removeAllListeners(name);
  process.exit(code);
}

/**
 * `troupe … | head`: a reader who has seen enough is no failure of ours. A
 * full disk is one, which nobody would see in what stdout leads to.
 */
export function stayQuietWithoutReader(): void {
  process.stdout.on('error', (error: unknown) => {
    if (errnoOf(error) === 'EPIPE') process.exit(process.exitCode ?? 0);
    tell(
      `stdout cannot be written, so that its end is missing: ${messageOf(error)}.`
    );
    process.exit(1);
  });
  process.stderr.on('error', () => undefined);
}

export interface Interruption {
  /** Aborted at the first signal. */
  signal: AbortSignal;
  /** 128 + number of the signal, as shells count. */
  exitCode: () => number | undefined;
  /** What is still to be done at a second signal, which ends us at once. */
  beforeEnd: (work: () => void) => void;
}

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Lets a command end in its own way at Ctrl-C; a second one, or its taking too
 * long, ends it at once.
 */
export function catchInterruption(): Interruption {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let last = () => {};
  for (const [name, code] of Object.entries(signals))
    process.on(name, () => {
      const end = () => {
        last();
        endNow(code);
      };
      if (exitCode !== undefined) end();
      exitCode = code;
      endsBy = performance.now() + interruptedMs;
      setTimeout(end, interruptedMs).unref();
      controller.abort();
    });
  return {
    signal: controller.signal,
    exitCode: () => exitCode,
    beforeEnd: (work) => {
      last = work;
    }
  };
}
