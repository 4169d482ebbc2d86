import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  addNestingAgent,
  answersOf,
  spawnNester
} from '../../kit/agents/nesting-agent.ts';
import { askOf, resultOf, spawnAsker } from '../../kit/servers/ask-calls.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

async function serve(settings: Record<string, unknown> = {}): Promise<void> {
  addNestingAgent(workspace, { maxDepth: 2, ...settings });
  server = await startServer(workspace);
}

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

const spawned = (ask: string, access = 'read') => ({
  tool: 'spawn_rehearsal',
  arguments: { prompt: 'permit make', access, ask }
});

const waited = {
  tool: 'wait_for_agents',
  arguments: { agent_ids: ['$id'] }
};

test('an agent answers the agents below it', async () => {
  await serve();
  const ask_id = '$id-1';
  const id = await spawnNester(server, {
    calls: [
      spawned('coordinator'),
      waited,
      {
        tool: 'answer_agent',
        arguments: { ask_id, decision: 'allow' }
      },
      waited
    ]
  });
  const [, asked, answered, ended] = await answersOf(server, id);
  expect(asked?.data).toMatchObject({ status: 'needs_answer' });
  expect(answered?.data).toMatchObject({ status: 'answered' });
  expect(JSON.stringify(ended?.data)).toContain('allowed make');
});

test('an agent answers none beside it, and none that asks a person', async () => {
  await serve();
  const asker = await spawnAsker(server, 'permit make');
  const ask_id = await askOf(server, asker);
  const id = await spawnNester(server, {
    calls: [
      { tool: 'answer_agent', arguments: { ask_id, decision: 'allow' } },
      spawned('person'),
      waited,
      {
        tool: 'answer_agent',
        arguments: { ask_id: '$id-1', decision: 'allow' }
      }
    ]
  });
  const [beside, , , below] = await answersOf(server, id);
  expect(beside?.data).toMatchObject({ error_code: 'not_yours' });
  expect(below?.data).toMatchObject({ error_code: 'not_yours' });
  await server.call('answer_agent', { ask_id, decision: 'deny' });
  await resultOf(server, asker);
});

test('an agent does not answer its own ask by the command line', async () => {
  await serve();
  for (const ask of ['coordinator', 'person']) {
    const id = await spawnAsker(server, 'permit make', { ask });
    const ask_id = await askOf(server, id);
    const env = { TROUPE_AGENT_ID: id, TROUPE_DEPTH: '1' };
    const words = ['answer', ask_id, 'allow', '--json'];
    const said = await runCommand(workspace, words, { env });
    expect(said.code).toBe(1);
    expect(JSON.parse(said.stdout)).toMatchObject({
      error: { code: 'not_yours' }
    });
    const stray = { env: { TROUPE_DEPTH: '1' } };
    const unknown = await runCommand(workspace, words, stray);
    expect(unknown.stdout).toContain('not_yours');
    await runCommand(workspace, ['answer', ask_id, 'deny']);
    expect(await resultOf(server, id)).toContain('Denied by the person');
  }
});

test('nobody allows what is above its own access', async () => {
  await serve({ maxAccess: 'write' });
  const id = await spawnAsker(server, 'write a.txt hi\npermit make');
  const first = await askOf(server, id);
  const edit = { ask_id: first, decision: 'allow' };
  expect((await server.call('answer_agent', edit)).isError).toBe(false);
  const second = await askOf(server, id);
  const command = { ask_id: second, decision: 'allow' };
  expect((await server.call('answer_agent', command)).data).toMatchObject({
    error_code: 'not_yours'
  });
  await server.call('answer_agent', { ...command, decision: 'deny' });
  expect(await resultOf(server, id)).toContain('wrote a.txt');
});
