import { isObject } from '../../config-overrides.ts';
import { viewPath } from '../../core/audit/view-file.ts';
import { ownReadFlags, readRegular } from '../../core/state/regular-file.ts';
import type { Host } from '../../host.ts';
import type { StdioSession } from './stdio-session.ts';

/** What the first agent is asked: to look, and to change nothing. */
const firstTask =
  'Name the files at the top of this project and say in one sentence what it is.';

export interface FirstDelegation {
  engine: string;
  agent_id: string;
  status: string;
  /** Its entry in logs/IAC.md, as it stands there. */
  entry: string;
}

const answerMs = 70_000;

/**
 * Has an agent look at the project by way of a server that has been
 * initialized, and waits for its end. An agent that is not wanted any more is
 * canceled before this returns.
 * @throws SessionFault or Error with the server's own words
 */
export async function delegateFirst(
  session: StdioSession,
  engine: string,
  tool: string,
  signal: AbortSignal
): Promise<Omit<FirstDelegation, 'entry'> | undefined> {
  const call = async (name: string, args: Record<string, unknown>) => {
    const params = { name, arguments: args };
    const answer = await session.request('tools/call', params, answerMs);
    const data = isObject(answer.structuredContent)
      ? answer.structuredContent
      : {};
    if (answer.isError !== true) return data;
    throw new Error(String(data.error ?? `${name} was refused.`));
  };
  const began = await call(tool, {
    prompt: firstTask,
    access: 'read',
    timeout: 180
  });
  const agent_id = String(began.agent_id);
  const stop = () => call('cancel_agent', { agent_id, reason: 'Ctrl-C' });
  let stopping: Promise<unknown> | undefined;
  const onAbort = () => {
    stopping = stop().catch(() => undefined);
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  for (;;) {
    const seen = await call('wait_for_agents', { agent_ids: [agent_id] });
    await stopping;
    if (signal.aborted) return undefined;
    if (seen.status !== 'all_completed') continue;
    const [result] = Array.isArray(seen.results) ? seen.results : [];
    const status = String(isObject(result) ? result.status : 'unknown');
    return { engine, agent_id, status };
  }
}

/** An agent's part of IAC.md; empty when it is not there. */
export function entryOf(agentId: string, { paths, identity }: Host): string {
  const path = viewPath(paths.views.directory, 'IAC', identity());
  const text = readRegular(path, ownReadFlags).toString('utf8');
  const at = text.indexOf(`\`#${agentId}\``);
  if (at < 0) return '';
  const start = text.lastIndexOf('\n### ', at) + 1;
  const end = /\n---\n\n?(?=### |<!-- troupe)/.exec(text.slice(at));
  return text.slice(start, end ? at + end.index : undefined).trim();
}
