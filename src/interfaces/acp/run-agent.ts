import { withTimeout } from '../../core/timing.ts';
import { AgentConnection, AgentError } from './agent-connection.ts';
import { AgentEvents } from './agent-events.ts';

/** How long the program gets to end by itself. */
const endingMs = 500;

type Fields = Record<string, unknown>;

/** What a run of a program that speaks the Agent Client Protocol needs. */
export interface AgentRun {
  command: string;
  args: string[];
  cwd: string;
  /** Given to the program in addition to its own. */
  server: { name: string; command: string; args: string[] };
  prompt: string;
  /** The session to continue; undefined starts a new one. */
  sessionId: string | undefined;
  /** Decides about one use of a tool; aborted when the program is gone. */
  decide: (
    tool: string,
    input: Fields,
    signal: AbortSignal
  ) => Promise<boolean>;
  /** Aborted when the run is to end. */
  signal: AbortSignal;
  /** Prints one line of the run's output. */
  print: (event: Fields) => void;
}

/**
 * Runs one prompt, and prints what happens as events. Resolves with the exit
 * code for the run: 0 if the program answered, whatever it answered.
 */
export async function runAgent(run: AgentRun): Promise<number> {
  const events = new AgentEvents(run.print);
  const gone = new AbortController();
  const program = new AgentConnection(run.command, run.args, {
    notify: (method, { update }) => {
      if (method === 'session/update') events.update(Object(update));
    },
    request: async (method, params) => {
      if (method !== 'session/request_permission')
        throw new AgentError(-32601, `Method not found: ${method}`);
      const call = events.called(Object(params.toolCall));
      const isAllowed =
        call.isShown && (await run.decide(call.tool, call.input, gone.signal));
      if (!isAllowed) events.denied(call.id);
      return { outcome: outcomeOf(params.options, isAllowed) };
    }
  });
  run.signal.addEventListener('abort', () => program.kill());
  void program.ended.then(() => gone.abort());
  try {
    await program.request('initialize', {
      protocolVersion: 1,
      // It reads and writes files, and runs commands, by itself.
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false
      }
    });
    const { cwd, server, sessionId, prompt } = run;
    const place = { cwd, mcpServers: [{ ...server, env: [] }] };
    const opened =
      sessionId === undefined
        ? await program.request('session/new', place)
        : await program.request('session/load', { ...place, sessionId });
    const session = sessionId ?? String(opened.sessionId);
    if (sessionId !== undefined) await events.repeated();
    events.begin(session, Object(opened.models).currentModelId);
    const answer = await program.request('session/prompt', {
      sessionId: session,
      prompt: [{ type: 'text', text: prompt }]
    });
    events.end(answer);
  } catch (problem) {
    if (!(problem instanceof AgentError)) return program.ended;
    events.fail(problem.message);
  }
  // Its processes that do not end now are ended as what the agent leaves.
  program.close();
  program.kill();
  await withTimeout(program.ended, endingMs, 0);
  return 0;
}

/** The option to allow this call once, or to refuse it. */
function outcomeOf(options: unknown, isAllowed: boolean): Fields {
  const wanted = isAllowed ? 'allow_once' : 'reject_once';
  const all: Fields[] = Array.isArray(options) ? options.map(Object) : [];
  const option = all.find(({ kind }) => kind === wanted);
  return option
    ? { outcome: 'selected', optionId: option.optionId }
    : { outcome: 'cancelled' };
}
