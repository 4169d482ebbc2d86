import { secondsSince } from '../../core/runs/report.ts';
import type { Run } from '../../core/runs/run.ts';
import type { WaitResult } from '../../core/runs/waiter.ts';
import type { Host } from '../../host.ts';
import { logProblem } from '../../log.ts';
import { limitsOf } from './clients.ts';
import type { ToolContext } from './define-tool.ts';

interface Awaited {
  agentIds: string[];
  mode: 'all' | 'any';
  /** As long as the caller wants to wait; its client may want less. */
  seconds: number;
  /** What they are together, for who sees nothing but the progress. */
  name?: string | undefined;
}

/**
 * Waits for agents, never longer than the client does, and tells it how far
 * they are.
 */
export function waitWithProgress(
  host: Host,
  { agentIds, mode, seconds, name }: Awaited,
  context: ToolContext
): Promise<WaitResult> {
  const { waitSeconds } = limitsOf(context.clientName);
  const longest = Math.min(seconds, waitSeconds);
  const began = performance.now();
  return host.wait({
    agentIds,
    mode,
    timeoutMs: 1000 * longest,
    signal: context.signal,
    onProgress: (done, still) => {
      describeProgress(host, still)
        .then((doing) => {
          const waited = Math.round((performance.now() - began) / 10) / 100;
          const of = name === undefined ? '' : `${name}: `;
          const message = `${of}${done.length} of ${agentIds.length} ended; ${doing}`;
          context.progress(waited, longest, message);
        })
        .catch(logProblem);
    }
  });
}

async function describeProgress(host: Host, waiting: Run[]): Promise<string> {
  const parts = await Promise.all(
    waiting.slice(0, 4).map(async (run) => {
      const { record, status } = run;
      const reply = await host.tracker.reply(record.agent_id);
      const doing = reply?.progress ?? status;
      return `${record.label} ${record.agent_id} ${secondsSince(record)}s: ${doing}`;
    })
  );
  const more = waiting.length > 4 ? ` and ${waiting.length - 4} more` : '';
  return `${parts.join('; ')}${more}`;
}
