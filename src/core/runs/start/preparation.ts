import { withTimeout } from '../../timing.ts';
import type { RunTracker } from '../end/run-tracker.ts';
import type { Run } from '../run.ts';
import type { RunStarter } from './starter.ts';

/** A spawn is answered within 200 ms. */
const answerMs = 150;

/**
 * Waits a moment for a run that is being prepared, so that the answer to its
 * spawn can say that it runs, or why it cannot. One that takes longer is queued.
 * @returns its state then; undefined for a run that needs no preparation
 */
export async function afterPreparation(
  agentId: string,
  { starter, tracker }: { starter: RunStarter; tracker: RunTracker },
  waitMs = answerMs
): Promise<Run | undefined> {
  const preparing = starter.preparing(agentId);
  if (!preparing) return undefined;
  await withTimeout(preparing, waitMs, undefined);
  return tracker.run(agentId);
}
