import type { Run } from '../core/runs/run.ts';
import type { WaitResult } from '../core/runs/waiter.ts';
import type { Host } from '../host.ts';
import { noSuchAgent } from './agent-id.ts';

export interface Waiting {
  agentIds: string[];
  mode: 'all' | 'any';
  /** Infinity: until they have ended. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Called two or three times a second. */
  onLook: (finished: Run[], waiting: Run[]) => void | Promise<void>;
}

const sliceMs = 400;

/**
 * Waits in short slices, so that a person sees what happens meanwhile.
 * @throws HostError `storage_full` when an end cannot be written down
 */
export async function waitWatching(
  host: Host,
  { agentIds, mode, timeoutMs, signal, onLook }: Waiting
): Promise<WaitResult> {
  const began = performance.now();
  // One that has ended may be cleaned away while the others are waited for.
  const ended = new Map<string, Run>();
  for (;;) {
    const left = timeoutMs - (performance.now() - began);
    const result = await host.wait({
      agentIds,
      mode,
      timeoutMs: Math.max(0, Math.min(sliceMs, left)),
      signal
    });
    const { waiting } = result;
    for (const run of result.finished) ended.set(run.record.agent_id, run);
    const finished = agentIds.flatMap((id) => ended.get(id) ?? []);
    await onLook(finished, waiting);
    const enough =
      waiting.length === 0 || (mode === 'any' && finished.length > 0);
    const known = [
      ...[...finished, ...waiting].map((run) => run.record.agent_id),
      ...result.spoilt.map(({ agentId }) => agentId)
    ];
    const stranger = agentIds.find((id) => !known.includes(id));
    if (stranger !== undefined) throw noSuchAgent(stranger, host);
    if (enough || left <= sliceMs || signal.aborted)
      return { ...result, finished, elapsedMs: performance.now() - began };
  }
}
