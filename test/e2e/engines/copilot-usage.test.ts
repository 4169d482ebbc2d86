import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

/** Writes its session's log as the real program does, and answers. */
const program = `const fs = require('node:fs');
const { join } = require('node:path');
const words = process.argv.join(' ');
const id = /--(?:session-id|resume)=(\\S+)/.exec(words)[1];
const home = process.env.COPILOT_HOME || join(process.env.HOME, '.copilot');
const log = join(home, 'session-state', id, 'events.jsonl');
const note = (inputTokens, outputTokens, timestamp) => {
  const usage = { model: 'm', inputTokens, outputTokens };
  const event = { type: 'session.usage_record', data: { usage }, timestamp };
  fs.appendFileSync(log, JSON.stringify(event) + '\\n');
};
const say = (event) => console.log(JSON.stringify(event));
if (!fs.readFileSync(0, 'utf8').includes('no log')) {
  fs.mkdirSync(join(log, '..'), { recursive: true });
  note(1000, 1000, '2026-01-01T00:00:00.000Z');
  fs.appendFileSync(log, '{"type":"session.resume"}\\nno JSON\\n');
  note(20, 5, new Date().toISOString());
  note(30, 7, new Date().toISOString());
}
const data = { content: 'Hi.', toolRequests: [], model: 'm' };
say({ type: 'assistant.message', data });
say({ type: 'result', sessionId: id, exitCode: 0 });`;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.program('copilot', program);
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

async function start(env: Record<string, string> = {}) {
  const engines = { copilot: { env } };
  workspace.write('troupe.config.json', JSON.stringify({ engines }));
  server = await startServer(workspace);
}

async function ended(tool: string, input: Record<string, unknown>) {
  const { data } = await server.call(tool, input);
  const { agent_id } = data;
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  return (await server.call('result', { agent_id })).data;
}

const usage = { prompt_tokens: 50, completion_tokens: 12, total_tokens: 62 };

test('usage of Copilot is read from its own log, of each turn alone', async () => {
  await start();
  const first = await ended('spawn_copilot', { prompt: 'One.' });
  expect(first).toMatchObject({ status: 'completed', usage, cost_usd: null });
  const { agent_id } = first;
  expect(
    await ended('continue_agent', { agent_id, prompt: 'Two.' })
  ).toMatchObject({ session_id: first.session_id, usage });
});

test('also where the settings give it another home', async () => {
  await start({ COPILOT_HOME: join(workspace.home, 'elsewhere') });
  expect(await ended('spawn_copilot', { prompt: 'One.' })).toMatchObject({
    usage
  });
});

test('without a log, and with a pipe in its place, it is unknown', async () => {
  await start();
  const one = await ended('spawn_copilot', { prompt: 'no log' });
  expect(one).toMatchObject({ status: 'completed', usage: null });
  const state = join(workspace.home, '.copilot', 'session-state');
  const folder = join(state, String(one.session_id));
  mkdirSync(folder, { recursive: true });
  execFileSync('mkfifo', [join(folder, 'events.jsonl')]);
  const again = { agent_id: one.agent_id, prompt: 'no log' };
  expect(await ended('continue_agent', again)).toMatchObject({
    status: 'completed',
    usage: null
  });
});
