import { setMaxListeners } from 'node:events';

/**
 * Work that any of some signals stops. `AbortSignal.any` keeps something of
 * every call for as long as the longer-lived signal lives (seen on Node 20).
 */
export async function withEither<Told>(
  signals: AbortSignal[],
  work: (signal: AbortSignal) => Promise<Told>
): Promise<Told> {
  const either = new AbortController();
  const stop = () => either.abort();
  // As many calls as there are listen to the end of the server.
  setMaxListeners(0, ...signals);
  for (const signal of signals)
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  try {
    return await work(either.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}
