import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import { removeWhileUsed } from '../../kit/workspaces/remove-while-used.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let gate: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  gate = join(workspace.home, 'gate');
  addGateAgent(workspace);
});

afterEach(async () => {
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toMatch(/bug|unexpectedly|^\s+at /m);
  workspace.remove();
});

async function start(): Promise<void> {
  const flags = ['--engine', 'gate'];
  server = await startServer(workspace, { flags });
}

async function spawned(): Promise<string> {
  const { data, text } = await server.call('spawn_gate', { prompt: gate });
  expect(data.status, text).toBe('running');
  await saidAnswer(workspace, String(data.agent_id));
  return String(data.agent_id);
}

async function ended(agent_id: string) {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 20 });
  return (await server.call('result', { agent_id })).data;
}

const tools = [
  ...['list', 'list_roles', 'spawn_gate'],
  ...['result', 'cancel_agent', 'continue_agent']
];

async function expectAllTold(agent_id: string): Promise<void> {
  for (const tool of tools)
    expectTold(await server.call(tool, inputOf(tool, agent_id)));
}

/** A clear answer, whatever it is. */
function expectTold({ isError, data }: ToolResult): void {
  if (!isError) return;
  expect(data.error_code).not.toBe('internal');
  expect(String(data.hint)).toMatch(/^.{20,}\.$/);
}

describe('under a server at work', () => {
  test('the workspace is renamed: it is reported, and found again', async () => {
    await start();
    const id = await spawned();
    const elsewhere = `${workspace.path}-elsewhere`;
    renameSync(workspace.path, elsewhere);
    await expectAllTold(id);
    writeFileSync(gate, '');
    expect(existsSync(join(workspace.path, 'logs'))).toBe(false);
    expect(existsSync(join(workspace.path, '.agents'))).toBe(false);
    const members = [{ roleId: 'code-reviewer', task: gate }];
    expectTold(await server.call('start_squad_members', { members }));
    rmSync(workspace.path, { recursive: true, force: true, maxRetries: 9 });
    renameSync(elsewhere, workspace.path);
    expect(await ended(id)).toMatchObject({ result: 'answer' });
    expect(await ended(await spawned())).toMatchObject({ status: 'completed' });
  });

  test('the workspace is removed: it is reported, and nothing comes back', async () => {
    await start();
    const id = await spawned();
    rmSync(workspace.path, { recursive: true, force: true, maxRetries: 9 });
    await expectAllTold(id);
    writeFileSync(gate, '');
    await until('the end of the agent', () => {
      return agentsAlive(workspace).length === 0;
    });
    expect(existsSync(workspace.path)).toBe(false);
  });

  test('.agents and logs are removed: nothing is lost', async () => {
    await start();
    const first = await spawned();
    writeFileSync(gate, '');
    expect(await ended(first)).toMatchObject({ result: 'answer' });
    const page = join(workspace.paths.views.agents, `${first}.md`);
    await until('its page', () => existsSync(page));
    rmSync(gate);
    const second = await spawned();
    workspace.write('.agents/notes.md', 'not ours');
    for (const name of ['.agents', 'logs'])
      removeWhileUsed(join(workspace.path, name));
    const listed = await server.call('list');
    expect(JSON.stringify(listed.data.running)).toContain(second);
    expect(agentsAlive(workspace)).toContain(second);
    const { data } = await server.call('result', { agent_id: first });
    expect(data).toMatchObject({ status: 'completed', result: 'answer' });
    expect(readFileSync(String(data.full_output), 'utf8')).toContain('answer');
    writeFileSync(gate, '');
    expect(await ended(second)).toMatchObject({ result: 'answer' });
    await until('the views', () => {
      const pages = [first, second].map((id) => `${id}.md`);
      const view = readIfExists(join(workspace.path, 'logs', 'IAC.md')) ?? '';
      return (
        [first, second].every((id) => view.includes(`#${id}`)) &&
        pages.every((name) =>
          existsSync(join(workspace.paths.views.agents, name))
        )
      );
    });
    expect(existsSync(join(workspace.path, '.agents'))).toBe(false);
  });

  test('the record is removed: agents end, and new ones start', async () => {
    await start();
    const id = await spawned();
    removeWhileUsed(workspace.record);
    await expectAllTold(id);
    writeFileSync(gate, '');
    await until('the end of the agent', () => {
      return agentsAlive(workspace).length === 0;
    });
    expect(await ended(await spawned())).toMatchObject({ status: 'completed' });
    const { data } = await server.call('list');
    expect(data).toMatchObject({ running: [], queued: [] });
  });

  test('logs is removed: what comes is logged in a new one', async () => {
    await start();
    const id = await spawned();
    removeWhileUsed(join(workspace.path, 'logs'));
    writeFileSync(gate, '');
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    await until('the log', () => readdirSync(workspace.path).includes('logs'));
    expect(await ended(await spawned())).toMatchObject({ status: 'completed' });
  });

  test('the program of an engine vanishes: running agents end well', async () => {
    await start();
    const id = await spawned();
    const file = join(workspace.bin, 'gate');
    renameSync(file, `${file}.old`);
    const { data } = await server.call('spawn_gate', { prompt: gate });
    expect(data).toMatchObject({
      status: 'failed',
      error_code: 'not_installed'
    });
    writeFileSync(gate, '');
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    renameSync(`${file}.old`, file);
    expect(await ended(await spawned())).toMatchObject({ status: 'completed' });
  });

  test('the program of an engine is replaced: each run has one of them', async () => {
    await start();
    const id = await spawned();
    rmSync(join(workspace.bin, 'gate'));
    workspace.program('gate', `console.log('another answer')`);
    const { data } = await server.call('spawn_gate', { prompt: gate });
    expect(await ended(String(data.agent_id))).toMatchObject({
      result: 'another answer'
    });
    writeFileSync(gate, '');
    expect(await ended(id)).toMatchObject({ result: 'answer' });
  });
});

function inputOf(tool: string, agent_id: string): Record<string, unknown> {
  if (tool.startsWith('list')) return {};
  if (tool === 'spawn_gate') return { prompt: gate };
  return { agent_id, ...(tool === 'continue_agent' ? { prompt: gate } : {}) };
}
