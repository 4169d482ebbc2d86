import { setTimeout as delay } from 'node:timers/promises';

/** Node's names of resources that occupy a thread of the thread pool. */
const threadPoolResources = /^(FSReq|FileHandle|GetAddrInfoReq|GetNameInfoReq)/;

/**
 * Whether a thread of the pool is busy. A file system or a name server that
 * does not respond can block it. `process.exit` waits for the thread without
 * limit, and no timer or signal handler runs meanwhile.
 */
function isThreadBusy(): boolean {
  return process
    .getActiveResourcesInfo()
    .some((name) => threadPoolResources.test(name));
}

/** Resolves once no thread of the pool is busy, or after `mostMs`. */
export async function awaitThreads(mostMs: number): Promise<void> {
  const ends = performance.now() + mostMs;
  before = new Set(requests());
  while (isThreadBusy() && performance.now() < ends) await delay(10);
}

/**
 * Ends this process now; with SIGKILL if `process.exit` would block.
 * @param code the exit code of `process.exit`
 */
export function endNow(code: number): never {
  if (isStuck()) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

/** The pending requests when `awaitThreads` was called. */
let before: Set<unknown> | undefined;

/**
 * Whether a thread is still busy with a request from before `awaitThreads`. A
 * new request is progress: Node reads a long file in many short requests.
 */
function isStuck(): boolean {
  const now = before && requests();
  if (!now) return isThreadBusy();
  return isThreadBusy() && now.some((request) => before?.has(request));
}

function requests(): unknown[] {
  const list: unknown = Reflect.get(process, '_getActiveRequests');
  const found: unknown = typeof list === 'function' ? list.call(process) : [];
  return Array.isArray(found) ? found : [];
}
