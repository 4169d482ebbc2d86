import { setTimeout as delay } from 'node:timers/promises';
import type {
  Council,
  FormattedView,
  FormatView,
  SessionCursor
} from './council.ts';
import type { CouncilStore } from './council-store.ts';
import type { View } from './view.ts';

interface WaitForResponses {
  agentName: string;
  cursor: string | null;
  timeoutMs: number;
  /** An abort ends the wait, and marks nothing as read. */
  signal: AbortSignal;
  /** Called once, when the wait begins. */
  onWait?: (view: View) => void;
}

/** Each poll is one `lstat` of the council's file. */
const pollMs = 40;

/**
 * Waits for the timeout, or until another agent responds, the council is closed
 * or a summoned agent fails; then returns the new responses. Returns at once if
 * one of these has already happened. Concurrent calls of one agent may return
 * the same responses, because the server cannot know which answer is read.
 * @throws HostError `session_replaced` when another session starts meanwhile,
 *   `unknown_cursor`, `no_council`
 */
export async function waitForResponses<Answer>(
  council: Council,
  store: CouncilStore,
  { agentName, cursor, timeoutMs, signal, onWait }: WaitForResponses,
  format: FormatView<Answer>
): Promise<FormattedView<Answer> & { isTimeout: boolean }> {
  const began = performance.now();
  const waited = () => performance.now() - began;
  let stamp = '';
  let isWaiting = false;
  let from: SessionCursor | string | null = cursor;
  const isNews = (view: View) =>
    isAnsweredOrClosed(view) || council.reportedFailures.areNewIn(view);
  for (;;) {
    let isTimeout = false;
    const result: FormattedView<Answer> | { view: View } = await council.readIf(
      agentName,
      from,
      (view) => {
        isTimeout = !isNews(view);
        return !signal.aborted && (!isTimeout || waited() >= timeoutMs);
      },
      format
    );
    if ('answer' in result) return { ...result, isTimeout };
    const { view }: { view: View } = result;
    from = { session_id: view.session.id, cursor: view.cursor };
    if (!isWaiting && waited() < timeoutMs) onWait?.(view);
    isWaiting = true;
    // Other waiting agents update their `last_seen`. This loop only peeks at
    // such changes, because a write would wake the other agents in turn.
    while (!signal.aborted && waited() < timeoutMs) {
      const now = store.file.stamp();
      if (now !== stamp) {
        stamp = now;
        const seen = council.peek(view);
        if (!seen || isNews(seen)) break;
      }
      const rest = Math.max(1, Math.min(pollMs, timeoutMs - waited()));
      await delay(rest, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted)
      return {
        answer: format(view).answer,
        markRead: async () => undefined,
        isTimeout: true
      };
  }
}

function isAnsweredOrClosed({ responses, agentName, session }: View): boolean {
  return (
    session.status === 'closed' ||
    responses.some(({ author }) => author !== agentName)
  );
}
