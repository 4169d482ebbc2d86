/**
 * The bridge of a run that asks: an MCP server that the run's program starts.
 * It writes each ask into the run's folder and waits there for the answer, so
 * that no server of troupe has to live meanwhile.
 *
 * `node ask-bridge.cjs <folder> [hook]`: with `hook` it answers one call of a
 * program's permission hook, which it reads from stdin. A refusal of a named
 * hook event is exit code 2 with the reason on stderr.
 *
 * `node ask-bridge.cjs <folder> acp <session> <program> …`: runs a program that
 * speaks the Agent Client Protocol, with the prompt from stdin. An empty session
 * starts a new one.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { thisProcess } from '../../adapters/child-process/process-table.ts';
import { askFile, askSettingsFile } from '../../core/asks/ask-files.ts';
import { Asker, type AskSettings } from '../../core/asks/asker.ts';
import { logProblem } from '../../host/log.ts';
import { untilLoadable } from '../../interfaces/acp/gemini-sessions.ts';
import { runAgent } from '../../interfaces/acp/run-agent.ts';
import { AskServer } from '../../interfaces/asking/ask-server.ts';
import { askTools } from '../../interfaces/asking/ask-tools.ts';
import { decidePermission } from '../../interfaces/asking/permission-decision.ts';
import { setUpServer } from '../process/process-setup.ts';

/** How often a hook looks whether its program is there. */
const parentMs = 200;

/** How long calls get to settle once the client is gone. */
const drainMs = 1500;

const stdout = setUpServer(logProblem);
const directory = process.argv[2] ?? '';
const settings: AskSettings = JSON.parse(
  readFileSync(askFile(directory, askSettingsFile), 'utf8')
);
const asker = new Asker({
  ...{ directory, settings, startParking },
  self: thisProcess()
});
if (process.argv[3] === 'hook') void answerHook();
else if (process.argv[3] === 'acp') void runAcp();
else serveTools();

/** In a session of its own, as it ends the program that started this one. */
function startParking(): void {
  const reaper = join(import.meta.dirname, 'reaper.cjs');
  const args = [reaper, directory, 'park'];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: 'ignore'
  });
  child.on('error', () => undefined);
  child.unref();
}

function serveTools(): void {
  const { stdin } = process;
  const server = new AskServer(askTools(asker, settings), stdin, stdout);
  const end = () => {
    setTimeout(() => process.exit(), drainMs);
    void server.end().then(() => stdout.write('', () => process.exit()));
  };
  for (const event of ['end', 'close', 'error']) stdin.on(event, end);
  process.stdout.on('error', end);
  stopped().signal.addEventListener('abort', end);
}

async function runAcp(): Promise<void> {
  const [sessionId = '', command = '', ...args] = process.argv.slice(4);
  if (sessionId !== '') await untilLoadable(sessionId);
  const code = await runAgent({
    ...{ command, args, cwd: process.cwd() },
    server: {
      name: 'troupe-ask',
      command: process.execPath,
      args: [process.argv[1] ?? '', directory]
    },
    prompt: readFileSync(0, 'utf8'),
    sessionId: sessionId === '' ? undefined : sessionId,
    signal: stopped().signal,
    decide: async (tool, input, signal) => {
      if (settings.access === 'full') return true;
      const decision = await decidePermission(
        asker,
        settings,
        tool,
        input,
        signal
      ).catch(logProblem);
      return decision?.behavior === 'allow';
    },
    print: (event) => stdout.write(`${JSON.stringify(event)}\n`)
  });
  stdout.write('', () => process.exit(code));
}

/** Every path prints a decision: a program may take silence for consent. */
async function answerHook(): Promise<void> {
  const { signal } = stopped();
  endWithParent();
  const hook = readHook();
  const decision = hook
    ? await decidePermission(
        asker,
        settings,
        hook.tool,
        hook.input,
        signal
      ).catch((problem: unknown) => {
        logProblem(problem);
        return refused('The ask could not be written.');
      })
    : refused('The hook has an input of another form.');
  const isAllowed = decision.behavior === 'allow';
  if (hook?.event === undefined || isAllowed) {
    const answer = hook?.event ? outputOf(hook.event) : decision;
    await new Promise((resolve) =>
      stdout.write(JSON.stringify(answer), resolve)
    );
  }
  if (hook && (hook.event === undefined || isAllowed)) process.exit(0);
  process.stderr.write(String(decision.message), () => process.exit(2));
}

/** A hook of a parked run gives no answer, and outlives SIGTERM. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, parentMs).unref();
}

/** Aborted when this process is asked to end. */
function stopped(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => controller.abort());
  return controller;
}

function refused(message: string): Record<string, unknown> {
  return { behavior: 'deny', message };
}

function outputOf(hookEventName: string): object {
  const decision = { behavior: 'allow' };
  return { hookSpecificOutput: { hookEventName, decision } };
}

/** Undefined when stdin has no hook of a known form. */
function readHook() {
  const hook: Record<string, unknown> = Object(
    parsedJson(readFileSync(0, 'utf8'))
  );
  const { toolName, toolInput, hook_event_name: event } = hook;
  if (isText(toolName) && isObject(toolInput))
    return { tool: toolName, input: toolInput, event: undefined };
  const { tool_name, tool_input } = hook;
  if (isText(event) && isText(tool_name) && isObject(tool_input))
    return { tool: tool_name, input: tool_input, event };
  return undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
