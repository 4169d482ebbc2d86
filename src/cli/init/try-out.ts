import { loadConfig } from '../../config/config.ts';
import { isObject } from '../../config/overrides.ts';
import { viewPath } from '../../core/audit/views/view-file.ts';
import { labelOf } from '../../core/engines/engine-registry.ts';
import { HostError, messageOf } from '../../core/errors.ts';
import {
  ownReadFlags,
  readRegular
} from '../../core/state/files/regular-file.ts';
import { createHost, type Host } from '../../host/host.ts';
import { toolNameOf } from '../../interfaces/mcp/tool/spawn-tool-name.ts';
import { withHost } from '../commands/command-options.ts';
import type { FirstTask } from '../json/setup-documents.ts';
import { type Start, startServer } from './server-check.ts';
import type { StdioSession } from './stdio-session.ts';

/**
 * The name of the tool that starts agents of an engine.
 * @throws HostError when the engine cannot read files
 */
export async function toolOf(
  engine: string,
  workspace: string
): Promise<string> {
  const config = await loadConfig({ workspace });
  const host = await createHost({ ...config, alsoEngines: [engine] });
  const found = host.registry.get(engine);
  if (found.kind === 'cli') return toolNameOf(found);
  throw new HostError(
    'invalid_input',
    `${labelOf(found)} is an API and works on no files.`,
    'Give --engine one that is a program: troupe engines lists them.'
  );
}

/**
 * Starts one agent that reads the project, through the server of an entry.
 * Returns undefined when `signal` aborts the run.
 */
export async function tryOut(
  start: Start,
  engine: string,
  signal: AbortSignal
): Promise<FirstTask | undefined> {
  const { workspace } = start;
  const tool = await toolOf(engine, workspace);
  const session = startServer({
    ...start,
    // The rehearsal engine is off by default.
    ...(engine === 'rehearsal' ? { extraEnv: { TROUPE_ENGINES: engine } } : {})
  });
  let ended: { agent_id: string; status: string } | undefined;
  try {
    await session.initialize(60_000);
    ended = await delegateFirst(session, tool, signal);
  } catch (error) {
    const problem = messageOf(error);
    return { engine, agent_id: null, status: null, problem, entry: null };
  } finally {
    await session.close();
  }
  if (!ended) return undefined;
  const { agent_id } = ended;
  // `withHost` updates IAC.md before it calls back.
  const entry = await withHost({ workspace }, async (host) =>
    entryOf(agent_id, host)
  );
  return { engine, ...ended, problem: null, entry };
}

const firstTask =
  'Name the files at the top of this project and say in one sentence what it is.';

const answerMs = 70_000;

/**
 * Starts an agent that reads the project, through an initialized server, and
 * waits for its end. After an abort, cancels the agent and returns undefined.
 * @throws SessionFault or Error with the message of the server
 */
async function delegateFirst(
  session: StdioSession,
  tool: string,
  signal: AbortSignal
): Promise<{ agent_id: string; status: string } | undefined> {
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
  let stopping: Promise<unknown> | undefined;
  const onAbort = () => {
    const request = { agent_id, reason: 'Ctrl-C' };
    stopping = call('cancel_agent', request).catch(() => undefined);
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
    return { agent_id, status };
  }
}

/** The entry of an agent in IAC.md; '' when there is none. */
function entryOf(agentId: string, { paths, identity }: Host): string {
  const path = viewPath(paths.views.directory, 'IAC', identity());
  const text = readRegular(path, ownReadFlags).toString('utf8');
  const at = text.indexOf(`\`#${agentId}\``);
  if (at < 0) return '';
  const start = text.lastIndexOf('\n### ', at) + 1;
  const end = /\n---\n\n?(?=### |<!-- troupe)/.exec(text.slice(at));
  return text.slice(start, end ? at + end.index : undefined).trim();
}
