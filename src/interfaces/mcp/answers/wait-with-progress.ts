import type { OpenAsk } from '../../../core/asks/answers/asks.ts';
import type { WaitResult } from '../../../core/runs/end/waiter.ts';
import { noteWait } from '../../../core/runs/notify/open-waits.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Host } from '../../../host/host.ts';
import type { ToolContext } from '../tool/define-tool.ts';
import { AskForms } from './ask-forms.ts';
import { limitsOf } from './client-limits.ts';
import { isWokenByHook } from './client-wakes.ts';

interface WaitOptions {
  agentIds: string[];
  mode: 'all' | 'any';
  /** The caller's limit; the limit of the client may be shorter. */
  seconds: number;
  /** Prefix of each progress message: a user may see several waits at once. */
  name?: string | undefined;
  /** Whether the client may call again, as nothing is started. */
  mayRepeat?: boolean | undefined;
}

/** The most active agents that a progress message names. */
const mostNamed = 4;

/**
 * Waits for agents within the client's time limit, and reports progress. An
 * agent that asks ends the wait, once for each ask and connection, unless its
 * ask is for a person and the client shows it as a form.
 * @throws InputRequired
 */
export async function waitWithProgress(
  host: Host,
  { agentIds, mode, seconds, name, mayRepeat = false }: WaitOptions,
  context: ToolContext
): Promise<WaitResult & { asks: OpenAsk[] }> {
  const { waitSeconds } = limitsOf(context.clientName);
  const total = agentIds.length;
  const onProgress = (done: Run[], waiting: Run[]) => {
    const prefix = name === undefined ? '' : `${name}: `;
    const message = `${prefix}${done.length} of ${total} ended${activityOf(host, waiting)}`;
    context.progress(done.length, total, message);
  };
  let asks: OpenAsk[] = [];
  const forms = new AskForms(host, context.clientName, context.forms);
  const isInterrupted = (waiting: Run[]) => {
    const open = host.asks
      .open(waiting.map(({ record }) => record))
      .filter(({ ask }) => !context.toldAsks.has(ask.ask_id));
    asks = forms.attend(open, mayRepeat);
    return asks.length > 0;
  };
  const close = isWokenByHook(context.clientName)
    ? noteWait(
        host.paths.servers,
        host.processes.self,
        context.caller.session,
        agentIds
      )
    : undefined;
  const result = await host
    .wait({
      agentIds,
      mode,
      timeoutMs: 1000 * Math.min(seconds, waitSeconds),
      signal: context.signal,
      isInterrupted,
      onProgress
    })
    .finally(() => {
      close?.();
      forms.close();
    });
  if (result.finished.length > 0) onProgress(result.finished, result.waiting);
  // A canceled call gives no answer.
  if (context.signal.aborted) return { ...result, asks: [] };
  for (const { ask } of asks) context.toldAsks.add(ask.ask_id);
  return { ...result, asks };
}

/** `; Claude 1a2b3c4d: Bash: npm test; Codex 5e6f7a8b: queued` */
function activityOf(host: Host, waiting: Run[]): string {
  const parts = waiting.slice(0, mostNamed).map(({ record, status }) => {
    const doing = host.tracker.lastWords(record) ?? status;
    return `; ${record.label} ${record.agent_id}: ${doing}`;
  });
  const more = waiting.length - parts.length;
  return `${parts.join('')}${more > 0 ? ` and ${more} more` : ''}`;
}
