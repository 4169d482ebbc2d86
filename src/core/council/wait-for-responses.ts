import { setTimeout as delay } from 'node:timers/promises';
import type { Council, Tell } from './council.ts';
import type { CouncilStore } from './council-store.ts';
import { wasReplaced } from './errors.ts';
import type { View } from './view.ts';

export interface WaitForResponses {
  agentName: string;
  cursor: string | null;
  timeoutMs: number;
  /** Aborted: nothing counts as told. */
  signal: AbortSignal;
  /** Called at the start and every 5 s. */
  onProgress?: (waitedMs: number, view: View) => void;
}

/** A look costs one system call, so other processes need not tell us. */
const pollMs = 40;
const progressMs = 5000;

/**
 * Waits until somebody else has responded, the council is closed, or an agent
 * summoned here has failed, which may have been before; then tells it.
 * @returns what was told, and whether time was up
 * @throws HostError `session_replaced` when another one is started meanwhile
 */
export async function waitForResponses<Told>(
  council: Council,
  store: CouncilStore,
  { agentName, cursor, timeoutMs, signal, onProgress }: WaitForResponses,
  tell: Tell<Told>
): Promise<{ told: Told; isTimeout: boolean }> {
  const began = performance.now();
  const waited = () => performance.now() - began;
  let stamp = '';
  let session_id = '';
  let lastProgress = Number.NEGATIVE_INFINITY;
  const isNews = (view: View) =>
    isNew(view) || council.toldFailures.areNewIn(view);
  for (;;) {
    let isTimeout = false;
    const answer = await council.readIf(
      agentName,
      cursor,
      (view) => {
        // Another call of the same agent may have been told before.
        session_id ||= view.session.id;
        if (view.session.id !== session_id)
          throw wasReplaced(agentName, { session_id }, view.session);
        isTimeout = !isNews(view);
        return !signal.aborted && (!isTimeout || waited() >= timeoutMs);
      },
      tell
    );
    if ('told' in answer) return { told: answer.told, isTimeout };
    const { view } = answer;
    // Others who wait write too, that they were here: that is no news, and
    // to write it down in turn would wake them again.
    while (!signal.aborted && waited() < timeoutMs) {
      if (waited() - lastProgress >= progressMs) {
        lastProgress = waited();
        onProgress?.(lastProgress, view);
      }
      const now = store.file.stamp();
      if (now !== stamp) {
        stamp = now;
        const seen = council.peek(view);
        if (!seen || isNews(seen)) break;
      }
      const rest = Math.max(1, Math.min(pollMs, timeoutMs - waited()));
      await delay(rest, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return { told: tell(view).told, isTimeout: true };
  }
}

/** There are words of others, or the last word has been spoken. */
function isNew({ responses, agentName, session }: View): boolean {
  return (
    session.status === 'closed' ||
    responses.some(({ author }) => author !== agentName)
  );
}
