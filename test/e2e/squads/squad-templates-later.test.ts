import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  refusal,
  startMember,
  startSquad
} from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let program: ReturnType<typeof squadProgram>;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
  workspace.write('run.template', 'squaddie "<%= task %>"');
  program = squadProgram(workspace);
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
});

const withTemplate = { RUN_TEMPLATE_PATH: 'run.template' };

async function start(env: Record<string, string> = withTemplate) {
  server = await startServer(workspace, { env });
}

const ask = (task: string) => ({ roleId: 'tester', task });

test('a template that changes counts from the next call on', async () => {
  await start();
  await startMember(server, ask('One.'));
  workspace.write('run.template', 'squaddie --new "<%= task %>"');
  await startMember(server, ask('Two.'));
  rmSync(`${workspace.path}/run.template`);
  expect(await refusal(server, [ask('Three.')])).toMatchObject({
    error_code: 'template_invalid',
    error: expect.stringContaining(`${workspace.path}/run.template`)
  });
  workspace.write('run.template', 'squaddie --back');
  await startMember(server, ask('Four.'));
  expect(program.calls().map(({ argv }) => argv)).toEqual([
    ['One.'],
    ['--new', 'Two.'],
    ['--back']
  ]);
});

test('members that wait for their turn keep the template they came with', async () => {
  await start({ ...withTemplate, EXECUTION_MODE: 'sequential' });
  const { squadId } = await startSquad(
    server,
    [ask('[[sleep 500]]'), ask('Two.')],
    { background: true }
  );
  workspace.write('run.template', 'squaddie --new');
  await server.call('wait_for_agents', { squadId });
  expect(program.calls().map(({ argv }) => argv)).toEqual([
    ['[[sleep 500]]'],
    ['Two.']
  ]);
});

test('a result is there after the server has started again', async () => {
  await start();
  const { agentId } = await startMember(server, ask('[[say  kept ]]'));
  await server.close();
  await start();
  const { data } = await server.call('result', { agent_id: agentId });
  expect(data).toMatchObject({
    agent_type: 'squaddie',
    status: 'completed',
    result: 'kept'
  });
});

test('what ends while no server runs is read as text by one without a template', async () => {
  await start();
  // For the engine of that name this would be no answer at all.
  const said = '{"type":"result","is_error":true}';
  const { members } = await startSquad(
    server,
    [ask(`[[sleep 1000]] [[say ${said}]]`)],
    { background: true }
  );
  const [member] = members;
  await server.close();
  await start({});
  await server.call('wait_for_agents', { agent_ids: [member?.agentId] });
  const agent_id = member?.agentId;
  const { data } = await server.call('result', { agent_id });
  expect(data).toMatchObject({
    status: 'completed',
    success: true,
    result: said
  });
  const input = { agent_id, prompt: 'More.' };
  const { data: refused } = await server.call('continue_agent', input);
  expect(refused.error_code).toBe('no_session');
});

test('a template of the package is found from any workspace', async () => {
  squadProgram(workspace, 'claude');
  await start({ RUN_TEMPLATE_PATH: 'templates/run-claude.template' });
  const member = await startMember(server, ask('[[say hello]]'));
  expect(member).toMatchObject({ status: 'completed', result: 'hello' });
  workspace.write('templates/run-claude.template', 'squaddie --own');
  await server.close();
  await start({ RUN_TEMPLATE_PATH: 'templates/run-claude.template' });
  await startMember(server, ask('Mine.'));
  expect(program.calls().map(({ argv }) => argv)).toEqual([['--own']]);
});
