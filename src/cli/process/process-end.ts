import { errnoOf, messageOf } from '../../core/errors.ts';
import { awaitThreads, endNow } from '../../host/end-process.ts';
import { report } from '../output/output.ts';

/** The longest wait for threads at an exit without a signal. */
const threadsMs = 2000;
/** The longest time from the first signal to the exit. */
const interruptedMs = 4500;
/** The longest wait for threads after a second signal. */
const secondMs = 200;

/** Deadline of the exit, by `performance.now()`; undefined before a signal. */
let endsBy: number | undefined;
/** After a SIGHUP: the terminal was closed or the user has logged out. */
let isHungUp = false;

/** Exits when all output has been written. */
export async function exitWith(code: number): Promise<never> {
  process.exitCode = code;
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  const leftMs = (endsBy ?? Number.POSITIVE_INFINITY) - performance.now();
  await awaitThreads(Math.min(threadsMs, leftMs));
  if (endsBy !== undefined) endInterrupted(code);
  // A blocked thread delays the exit, so a signal has to end the process.
  for (const name of Object.keys(signals)) process.removeAllListeners(name);
  process.exit(code);
}

/**
 * Exits quietly when the reader of stdout stops reading (`troupe … | head`).
 * Reports any other error, such as a full disk: a truncated file does not show
 * it.
 */
export function stayQuietWithoutReader(): void {
  process.stdout.on('error', (error: unknown) => {
    if (errnoOf(error) === 'EPIPE') process.exit(process.exitCode ?? 0);
    // The terminal was closed; not every process gets a SIGHUP for that.
    if (errnoOf(error) === 'EIO' && process.stdout.isTTY) return hangUp();
    report(
      `stdout cannot be written, so its end is missing: ${messageOf(error)}.`
    );
    process.exit(1);
  });
  process.stderr.on('error', (error: unknown) => {
    if (errnoOf(error) === 'EIO' && process.stderr.isTTY) hangUp();
  });
}

export interface Interruption {
  /** Aborted at the first signal. */
  signal: AbortSignal;
  /** 128 + number of the signal, as in shells; undefined without a signal. */
  exitCode: () => number | undefined;
  /** `work` runs before a second signal or the time limit ends the process. */
  beforeEnd: (work: () => void) => void;
}

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Sends this process a SIGHUP, which the system sends only to the leader of the
 * session. A command that catches the signal ends in its own way.
 */
export function hangUp(): void {
  process.kill(process.pid, 'SIGHUP');
}

/** Without its terminal, Node crashes at a normal exit, so SIGHUP ends it. */
function endInterrupted(code: number): never {
  if (isHungUp) {
    process.removeAllListeners('SIGHUP');
    hangUp();
  }
  endNow(code);
}

/**
 * Lets a command end in its own way after Ctrl-C. A second signal or the time
 * limit ends the process.
 */
export function catchInterruption(): Interruption {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let last = () => {};
  let isEnding = false;
  for (const [name, code] of Object.entries(signals))
    process.on(name, () => {
      const end = () => {
        if (isEnding) return;
        isEnding = true;
        last();
        // A file that is being read at this moment blocks no exit.
        void awaitThreads(secondMs).then(() => endInterrupted(code));
      };
      const wasHungUp = isHungUp;
      isHungUp ||= name === 'SIGHUP';
      // The shell and the kernel may both send a SIGHUP.
      if (wasHungUp && name === 'SIGHUP') return;
      if (exitCode !== undefined) return end();
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
