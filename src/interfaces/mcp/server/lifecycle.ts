import {
  setTimeout as delay,
  setImmediate as nextTurn
} from 'node:timers/promises';
import { awaitThreads, endNow } from '../../../host/end-process.ts';
import { log } from '../../../host/log.ts';

/** The longest wait for active calls after the client has disconnected. */
const drainMs = 1500;
/** The process exits after this time even if its shutdown is not complete. */
const shutdownMs = 4500;
/** The longest wait for threads at the end of a shutdown. */
const threadsMs = 2000;

export interface Life {
  /** Aborted when the server or the session ends; long waits then return. */
  ending: AbortSignal;
  /** Counts a call as active until it settles. */
  track: <T>(call: Promise<T>) => Promise<T>;
}

type End = (reason: string, answerFirst: boolean) => Promise<void>;

/**
 * Shuts down the process at the end of stdin (which the SDK ignores), at a
 * signal, or when the client no longer reads. An uncaught error is logged to
 * stderr and does not end the server.
 */
export function liveUntilDisconnect(close: () => Promise<void>): Life {
  return live(close, false, (end) => {
    process.stdin.on('end', () => void end('end of input', true));
    process.stdin.on('close', () => void end('end of input', true));
    process.stdin.on('error', () => void end('broken input', false));
    process.stdout.on('error', () => void end('broken output', false));
  });
}

/** Shuts down a server with several clients at a signal. Ignores stdin. */
export function liveUntilSignal(close: () => Promise<void>): Life {
  return live(close, true, () => {
    process.stdout.on('error', () => undefined);
  });
}

/** Waits for all calls, and for further work that written answers start. */
async function settled(calls: Set<Promise<unknown>>): Promise<void> {
  do {
    await Promise.allSettled(calls);
    await nextTurn();
  } while (calls.size > 0);
}

/** @param answersAtSignal whether clients still read answers after a signal */
function live(
  close: () => Promise<void>,
  answersAtSignal: boolean,
  listen: (end: End) => void
): Life {
  const controller = new AbortController();
  const calls = new Set<Promise<unknown>>();
  let ending = false;
  const end = async (reason: string, answerFirst: boolean) => {
    if (ending) return;
    ending = true;
    const ends = performance.now() + shutdownMs;
    setTimeout(() => endNow(1), shutdownMs).unref();
    // Lets requests start that arrived together with the end of the input.
    await nextTurn();
    controller.abort();
    if (answerFirst) await Promise.race([settled(calls), delay(drainMs)]);
    await close().catch((error: unknown) => log(`${reason}: ${String(error)}`));
    await awaitThreads(Math.min(threadsMs, ends - performance.now()));
    endNow(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => void end(signal, answersAtSignal));
  listen(end);
  process.stderr.on('error', () => undefined);
  process.on('disconnect', () => void end('disconnect', false));
  process.on('uncaughtException', (error) => log(`bug: ${error.stack}`));
  process.on('unhandledRejection', (reason) => log(`bug: ${String(reason)}`));
  return {
    ending: controller.signal,
    track: (call) => {
      calls.add(call);
      const forget = () => calls.delete(call);
      call.then(forget, forget);
      return call;
    }
  };
}
