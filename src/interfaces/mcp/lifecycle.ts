import {
  setTimeout as delay,
  setImmediate as nextTurn
} from 'node:timers/promises';
import { awaitThreads, endNow } from '../../end-process.ts';
import { log } from '../../log.ts';

/** How long answers under way are waited for when the client has left. */
const drainMs = 1500;
/** A shutdown that takes longer than this is cut off. */
const shutdownMs = 4500;

/** For what threads do yet when all is closed. */
const threadsMs = 2000;

export interface Life {
  /** Aborted when the server ends: long waits let go. */
  ending: AbortSignal;
  /** Counts a call as under way until it settles. */
  track: <T>(call: Promise<T>) => Promise<T>;
}

/** What says that nobody is served any more. */
type End = (reason: string, answerFirst: boolean) => Promise<void>;

/**
 * Ends the process once, whatever says so first: end of stdin (the SDK does
 * not notice), a signal, or a client that no longer reads. A bug in a handler
 * is told on stderr and never ends the server.
 */
export function liveUntilDisconnect(close: () => Promise<void>): Life {
  return live(close, false, (end) => {
    process.stdin.on('end', () => void end('end of input', true));
    process.stdin.on('close', () => void end('end of input', true));
    process.stdin.on('error', () => void end('broken input', false));
    process.stdout.on('error', () => void end('broken output', false));
  });
}

/** The same where clients come and go: what stdin does says nothing. */
export function liveUntilSignal(close: () => Promise<void>): Life {
  return live(close, true, () => {
    process.stdout.on('error', () => undefined);
  });
}

/** @param answersAtSignal whether clients still read when a signal comes */
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
    // Requests that came in one piece with the end are taken up first.
    await nextTurn();
    controller.abort();
    if (answerFirst)
      await Promise.race([Promise.allSettled(calls), delay(drainMs)]);
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
