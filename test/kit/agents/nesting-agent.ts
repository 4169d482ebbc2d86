import { join } from 'node:path';
import { until } from '../judges/until.ts';
import type { McpClient } from '../servers/mcp-client.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { linesOf } from './probe-agent.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

/**
 * How an agent starts the server that it calls.
 *
 * plain       as a child, with its environment
 * bare        as a child, with nothing of its environment
 * session     the same in a session of its own
 * reparented  in its session, by a process that ends at once
 */
export type How = 'plain' | 'bare' | 'session' | 'reparented';

export interface NestedCall {
  tool: string;
  /** `$id` stands for the last agent's id in an answer, `$self` for its own. */
  arguments: Record<string, unknown>;
}

export interface Nesting {
  how?: How;
  /** Of its server. */
  flags?: string[];
  calls: readonly NestedCall[];
  /** A file: nothing is called before it is there. */
  gate?: string;
  /** A file: it ends when that is there. */
  until?: string;
}

/** An answer that an agent got from its server. */
export interface NestedAnswer {
  isError: boolean;
  data: Record<string, unknown>;
  ms: number;
}

/**
 * Makes `spawn_nester`: an agent that is a client of a server of ours, makes
 * the calls of its prompt one after the other, and gives the answers. As a
 * worker it has the variable `NESTING` and never asks for a task.
 */
export function addNestingAgent(
  workspace: TempWorkspace,
  settings: Record<string, unknown> = {}
): void {
  workspace.program('nester', program);
  workspace.write('nester.mjs', plugin);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      plugins: ['./nester.mjs'],
      engines: { rehearsal: true },
      ...settings
    })
  );
}

/** The prompt of an agent that does so. */
export function nesting(what: Nesting): string {
  return JSON.stringify(what);
}

/** Starts an agent that does so; gives its id. */
export async function spawnNester(
  server: McpClient,
  what: Nesting
): Promise<string> {
  const prompt = nesting(what);
  const { data, text, isError } = await server.call('spawn_nester', { prompt });
  if (isError) throw new Error(text);
  return String(data.agent_id);
}

/** What an agent that did so was answered, once it has ended. */
export async function answersOf(
  server: McpClient,
  agentId: string
): Promise<NestedAnswer[]> {
  await server.call('wait_for_agents', { agent_ids: [agentId] });
  const { data } = await server.call('result', { agent_id: agentId });
  if (data.status !== 'completed') throw new Error(JSON.stringify(data));
  return JSON.parse(String(data.result));
}

/** Waits until it has a server and stands at its gate, or has its answers. */
export function nesterAt(
  where: 'at the gate' | 'answered',
  { record }: TempWorkspace,
  agentId: string
) {
  const stderr = join(record, 'spawns', agentId, 'stderr');
  return until(where, () => linesOf(stderr)?.includes(where), 20_000);
}

const plugin = `export default {
  kind: 'cli', name: 'nester', description: 'For tests.', command: 'nester',
  args: () => [], resumes: true,
  connect: () => ({ args: [] }), interactive: { args: () => [] }
};`;

const program = `
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { how = 'plain', flags = [], calls, gate, until } =
  JSON.parse(process.env.NESTING || fs.readFileSync(0, 'utf8'));
const { PATH, HOME } = process.env;
const bare = { PATH, HOME };
const command = [process.execPath, ${JSON.stringify(troupe)}, 'mcp',
  '--workspace', process.cwd(), '--trust', ...flags];
const stdio = ['pipe', 'pipe', 'inherit'];
const start = {
  plain: () => spawn(command[0], command.slice(1), { stdio }),
  bare: () => spawn(command[0], command.slice(1), { stdio, env: bare }),
  session: () =>
    spawn(command[0], command.slice(1), { stdio, env: bare, detached: true }),
  reparented: () => spawn('sh', ['-c', '("$@" <&3 >&4 &)', 'sh', ...command],
    { stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'], env: bare })
};
const server = start[how]();
const [to, from] = how === 'reparented'
  ? [server.stdio[3], server.stdio[4]] : [server.stdin, server.stdout];
const waiting = new Map();
require('node:readline').createInterface({ input: from }).on('line', (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message.result);
});
const send = (message) =>
  to.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
let next = 0;
const request = (method, params) => new Promise((resolve) => {
  next += 1;
  waiting.set(next, resolve);
  send({ id: next, method, params });
});
const file = async (path) => {
  while (path && !fs.existsSync(path)) await pause(10);
};
(async () => {
  await request('initialize', {
    protocolVersion: '2025-11-25', capabilities: {},
    clientInfo: { name: 'nester', version: '1' } });
  send({ method: 'notifications/initialized' });
  if (gate) console.error('at the gate');
  await file(gate);
  const answers = [];
  let id = '';
  for (const call of calls) {
    const text = JSON.stringify(call.arguments)
      .replaceAll('$id', id)
      .replaceAll('$self', process.env.TROUPE_AGENT_ID);
    const from = performance.now();
    const { isError = false, structuredContent: data, content } =
      await request('tools/call',
        { name: call.tool, arguments: JSON.parse(text) });
    const ms = Math.round(performance.now() - from);
    answers.push({ isError, data: data ?? JSON.parse(content[0].text), ms });
    id = /"agent_?[iI]d":"([0-9a-f]{8})"/.exec(JSON.stringify(data))?.[1] ?? id;
  }
  console.error('answered');
  await file(until);
  to.end();
  process.stdout.write(JSON.stringify(answers));
})();
`;
