import { setTimeout as delay } from 'node:timers/promises';

/** Requests that a thread works on, by what Node calls them. */
const ofThreads = /^(FSReq|FileHandle|GetAddrInfoReq|GetNameInfoReq)/;

/**
 * Whether a thread is at work, or waits in the system for a file system or a
 * name server that does not answer. `process.exit` waits for it, for ever if
 * need be, and no timer and no signal handler runs meanwhile.
 */
function isThreadAtWork(): boolean {
  return process.getActiveResourcesInfo().some((name) => ofThreads.test(name));
}

/** Returns when no thread is at work, or when the time is up. */
export async function awaitThreads(mostMs: number): Promise<void> {
  const ends = performance.now() + mostMs;
  before = new Set(requests());
  while (isThreadAtWork() && performance.now() < ends) await delay(10);
}

/**
 * Ends this process now: by SIGKILL where `process.exit` could wait.
 * @param code the exit code, unless a thread is at work
 */
export function endNow(code: number): never {
  if (isStuck()) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

/** What threads worked on when they were first waited for. */
let before: Set<unknown> | undefined;

/** A long file is read in many requests, and none of them takes long. */
function isStuck(): boolean {
  const now = before && requests();
  if (!now) return isThreadAtWork();
  return isThreadAtWork() && now.some((request) => before?.has(request));
}

function requests(): unknown[] {
  const ask: unknown = Reflect.get(process, '_getActiveRequests');
  const found: unknown = typeof ask === 'function' ? ask.call(process) : [];
  return Array.isArray(found) ? found : [];
}
