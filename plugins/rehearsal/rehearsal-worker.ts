/**
 * The rehearsal engine as a worker: a real MCP client that follows the loop of
 * its brief. A task's payload is a script, as text or as `{"script": "…"}`.
 * Lines `rehearsal: …` of the brief are performed before the first task.
 *
 * `node rehearsal-agent.cjs <access> [--brief <brief>]`, with variables that
 * name this program and its server. Without `--brief`, it is read from stdin.
 */
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Script, ScriptFailure } from './rehearsal-script.ts';

interface Command {
  type: string;
  task_id?: string;
  payload?: unknown;
  payload_file?: string;
}

interface Answer {
  status?: string;
  command?: Command;
  cancel_requested?: boolean;
  error?: string;
  error_code?: string;
}

const [access = 'read', , brief] = process.argv.slice(2);
const serverFile = process.env.TROUPE_REHEARSAL_SERVER ?? '';
const waitMs = 45_000;
/** A worker reports its activity in events, not on the screen. */
const quiet = { access, report: () => undefined, print: show };

const client = new Client(
  { name: 'rehearsal', version: '1' },
  // Answers are not validated against the schemas of the tools.
  {
    jsonSchemaValidator: {
      getValidator: () => (input) => ({
        valid: true,
        data: input as never,
        errorMessage: undefined
      })
    }
  }
);

async function work(): Promise<void> {
  const script = new Script(quiet);
  const text = brief ?? readFileSync(0, 'utf8');
  for (const [, line = ''] of text.matchAll(/^rehearsal: (.*)$/gm))
    await script.perform(line);
  const { command, args, env } = JSON.parse(readFileSync(serverFile, 'utf8'));
  client.onclose = () => process.exit(1);
  await client.connect(
    new StdioClientTransport({ command, args, env, stderr: 'inherit' })
  );
  show('ready');
  for (;;) {
    const { command: next } = await call('wait_for_command', {
      timeout_ms: waitMs
    });
    if (next?.type === 'stop') break;
    if (next?.type === 'task') await perform(next);
  }
  show('stopped');
  process.exit(0);
}

async function perform(command: Command): Promise<void> {
  const task_id = command.task_id ?? '';
  const emit = (type: string, text?: string) =>
    call('emit_event', {
      type,
      task_id,
      ...(text === undefined ? {} : { payload: { text } })
    });
  show(`task ${task_id}`);
  await emit('ack');
  const script = new Script(quiet);
  try {
    for (const line of scriptOf(command).split('\n')) {
      // A task can be canceled between two lines.
      const { cancel_requested } = await emit('progress', line.slice(0, 120));
      if (cancel_requested) {
        await emit('canceled', script.answer());
        return show(`canceled ${task_id}`);
      }
      await script.perform(line);
    }
    await emit('result', script.answer());
    show(`done ${task_id}`);
  } catch (error) {
    if (!(error instanceof ScriptFailure)) throw error;
    await emit('error', error.message);
    show(`failed ${task_id}`);
  }
}

async function call(tool: string, args: object): Promise<Answer> {
  const { structuredContent, isError } = await client.callTool(
    { name: tool, arguments: { ...args } },
    undefined,
    { timeout: 2 * waitMs }
  );
  const answer: Answer = { ...Object(structuredContent) };
  // Another process may have reported the end of the task first.
  if (isError && answer.error_code !== 'already_done')
    throw new Error(`${tool}: ${answer.error}`);
  return answer;
}

function scriptOf({ payload, payload_file }: Command): string {
  const value =
    payload_file === undefined
      ? payload
      : JSON.parse(readFileSync(payload_file, 'utf8'));
  if (typeof value === 'string') return value;
  const { script }: { script?: unknown } = { ...Object(value) };
  return typeof script === 'string' ? script : JSON.stringify(value ?? null);
}

function show(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`);
}

work().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
});
