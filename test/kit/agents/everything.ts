import { expect } from 'vitest';
import type { McpClient } from '../servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  taskEnd,
  workerIs
} from '../servers/orchestrator-calls.ts';
import type { GitWorkspace } from '../workspaces/git-workspace.ts';

/** Every toolset, and all state in the workspace. */
export function configureEverything(workspace: GitWorkspace): void {
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      plugins: ['./shell.mjs'],
      toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
      engines: {
        rehearsal: {},
        // No process listens there.
        grok: { baseUrl: 'http://127.0.0.1:9' },
        codex: { command: '/nowhere/codex' }
      },
      squad: { engine: 'rehearsal', stateMode: 'stateful' },
      council: { scope: 'project' },
      orchestrator: {
        backend: 'process',
        engine: 'rehearsal',
        restart: 'on-crash'
      },
      iac: { entries: 3, megabytes: 1 },
      journal: { megabytes: 0.01 }
    })
  );
  workspace.commit('configured');
}

/** One of each thing that a server does offline, until all of it is over. */
export async function doEverything(server: McpClient): Promise<void> {
  await spawnOfEachKind(server);
  await holdCouncils(server);
  await employWorkers(server);
  await waitForAll(server);
}

async function spawnOfEachKind(server: McpClient): Promise<void> {
  const spawned = async (tool: string, args: Record<string, unknown>) =>
    String((await answerOf(server, tool, args)).agent_id);
  const first = await spawned('spawn_rehearsal', { prompt: 'say x\nprint 1' });
  await spawned('spawn_rehearsal', { prompt: 'x'.repeat(30_000) });
  await spawned('spawn_rehearsal', { prompt: 'crash' });
  await spawned('spawn_rehearsal', { prompt: 'hang', timeout: 1 });
  await spawned('spawn_shell', { prompt: 'echo a >a.txt; echo done' });
  const apart = { prompt: 'echo b >b.txt; echo done', isolate: 'worktree' };
  await spawned('spawn_shell', apart);
  await spawned('spawn_codex', { prompt: 'x' });
  await spawned('spawn_grok', { prompt: 'x', timeout: 2 });
  const canceled = await spawned('spawn_rehearsal', { prompt: 'hang' });
  await answerOf(server, 'cancel_agent', { agent_id: canceled, reason: 'r' });
  await waitForAll(server);
  await server.call('continue_agent', { agent_id: first, prompt: 'say y' });
  await answerOf(server, 'second_opinion', {
    question: 'x?',
    engines: ['rehearsal'],
    context_files: ['readme.txt']
  });
  const member = { roleId: 'debugger', task: 'say z' };
  const { members } = await answerOf(server, 'start_squad_members', {
    members: [member, member]
  });
  expect(members).toHaveLength(2);
}

async function holdCouncils(server: McpClient): Promise<void> {
  const request = 'long '.repeat(8000);
  const agent_name = 'a';
  for (const _ of [1, 2]) {
    await answerOf(server, 'start_council', { agent_name, request });
    await answerOf(server, 'send_response', { agent_name, content: request });
    await answerOf(server, 'join_council', { agent_name: 'b' });
  }
  await answerOf(server, 'summon_agent', { engine: 'rehearsal' });
  await waitForAll(server);
}

async function employWorkers(server: McpClient): Promise<void> {
  const { agent_id } = await createdWorker(server);
  await enqueued(server, agent_id, 'big', `say ${'x'.repeat(100_000)}`);
  await taskEnd(server, agent_id, 'big');
  await enqueued(server, agent_id, 'bad', 'crash');
  await enqueued(server, agent_id, 'good', 'say x');
  await answerOf(server, 'task_cancel', { agent_id, task_id: 'good' });
  await answerOf(server, 'agent_delete', {
    agent_id,
    force: true,
    confirm: true
  });
  await workerIs(server, agent_id, 'stopped');
}

async function waitForAll(server: McpClient): Promise<void> {
  const { data } = await server.call('wait_for_agents', {});
  expect(data.status).toMatch(/^(all_completed|no_agents_running)$/);
}
