import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
});

afterEach(async () => {
  expect(server?.impurities ?? []).toEqual([]);
  await server?.close();
  workspace.remove();
});

async function start(template: string, env: Record<string, string> = {}) {
  workspace.write('run.template', template);
  const given = { RUN_TEMPLATE_PATH: 'run.template', ...env };
  server = await startServer(workspace, { env: given });
  return server;
}

const ask = (task: string) => ({ roleId: 'tester', task });

async function typeOf(client: McpClient, agent_id: string) {
  return (await client.call('result', { agent_id })).data.agent_type;
}

const view = (name: string) =>
  readFileSync(join(workspace.path, 'logs', name), 'utf8');

function spawnedLine(agentId: string): Record<string, unknown> {
  return readFileSync(workspace.paths.journal, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .find((line) => line.type === 'spawned' && line.agent_id === agentId);
}

test('without ENGINE the program of a template is named everywhere', async () => {
  const { file } = squadProgram(workspace, 'my-agent');
  const client = await start('my-agent "<%= task %>"');
  const tasks = ['[[exit 3]] [[err no luck]]', 'Two.', '[[sleep 60000]]'];
  const { members } = await startSquad(client, tasks.map(ask), {
    background: true
  });
  const ids = members.map(({ agentId }) => agentId);
  const [failed = '', done = '', running = ''] = ids;
  await client.call('wait_for_agents', { agent_ids: [failed, done] });
  const context = await until('the agent in CONTEXT.md', () => {
    const text = view('CONTEXT.md');
    return text.includes(running) ? text : undefined;
  });
  const list = await client.call('list', {});
  await client.call('cancel_agent', { agent_id: running });
  const results = await Promise.all(
    ids.map((agent_id) => client.call('result', { agent_id }))
  );
  const log = await until('all ends in IAC.md', () => {
    const text = view('IAC.md');
    return text.includes('Canceled') && text.includes('Failed')
      ? text
      : undefined;
  });
  expect(results[0]?.data).toMatchObject({
    agent_type: 'my-agent',
    error: 'my-agent exited with code 3: no luck'
  });
  expect(list.data.running).toMatchObject([{ id: running, type: 'my-agent' }]);
  expect(log).toContain(' | my-agent (default) [CLI] | ');
  expect(log).toContain(' | Program: my-agent | ');
  expect(log).toMatch(/^\| my-agent \| 3 \| /m);
  expect(context).toContain(`| \`${running}\` | my-agent | CLI |`);
  const shown = [
    ...results.map(({ text }) => text),
    list.text,
    context,
    log,
    (await runCommand(workspace, ['list'])).stdout,
    readFileSync(workspace.paths.journal, 'utf8')
  ].join('\n');
  expect(shown.replaceAll(file, '')).not.toMatch(/claude/i);
});

test('what stands for another engine has its name', async () => {
  squadProgram(workspace, 'cursor-agent');
  const client = await start('cursor-agent --print');
  const { agentId } = await startMember(client, ask('[[exit 1]]'));
  const { data } = await client.call('result', { agent_id: agentId });
  expect(data).toMatchObject({
    agent_type: 'cursor-agent',
    error: expect.stringMatching(/^Cursor exited with code 1/)
  });
});

test('a program that an API is called like is no API', async () => {
  squadProgram(workspace, 'gemini');
  const client = await start('gemini');
  const { agentId } = await startMember(client, ask('One.'));
  expect(await typeOf(client, agentId)).toBe('gemini-cli');
});

test('ENGINE_COMMAND is named by its last part', async () => {
  const { file } = squadProgram(workspace, 'mine.sh');
  const client = await start('--fast', { ENGINE_COMMAND: file });
  const { agentId } = await startMember(client, ask('One.'));
  expect(await typeOf(client, agentId)).toBe('mine.sh');
  expect(spawnedLine(agentId)).toMatchObject({
    command: file,
    template: join(workspace.path, 'run.template')
  });
});

test('the journal names the program also where ENGINE gives a name', async () => {
  squadProgram(workspace, 'my-agent');
  const client = await start('my-agent', { ENGINE: 'claude' });
  const { agentId } = await startMember(client, ask('One.'));
  expect(await typeOf(client, agentId)).toBe('claude');
  expect(spawnedLine(agentId)).toMatchObject({
    engine: 'claude',
    command: 'my-agent'
  });
});

test('and that of an agent without any template', async () => {
  workspace.program('claude', '');
  server = await startServer(workspace);
  const { data } = await server.call('spawn_claude', { prompt: 'Hello' });
  const line = spawnedLine(String(data.agent_id));
  expect(line).toMatchObject({ engine: 'claude', command: 'claude' });
  expect(line.template).toBeUndefined();
});
