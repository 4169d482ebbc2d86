import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { unservedIn, workerToolNames } from '../../kit/servers/tool-names.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let answers: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  answers = [];
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

async function start(toolsets: string) {
  const env = { TROUPE_ON_DISCONNECT: 'stop', ENGINE: 'rehearsal' };
  const engines = ['--engines', 'rehearsal,codex'];
  const flags = ['--toolsets', toolsets, ...engines];
  server = await startServer(workspace, { flags, env });
}

async function call(name: string, args: Record<string, unknown> = {}) {
  const { text, data } = await server.call(name, args);
  answers.push(text);
  return data;
}

async function namesOf(client: McpClient): Promise<string[]> {
  const { tools } = await client.request('tools/list');
  return (tools as { name: string }[]).map(({ name }) => name);
}

async function unserved(): Promise<string[]> {
  const served = await namesOf(server);
  await server.close();
  await start('all');
  const all = [...(await namesOf(server)), ...workerToolNames];
  return unservedIn(answers.join('\n'), all, served);
}

test('agents of spawn tools alone are followed by command', async () => {
  await start('spawn');
  const long = { prompt: 'sleep 60', request_id: 'long' };
  const running = await call('spawn_rehearsal', long);
  await call('spawn_rehearsal', long);
  const missing = { prompt: 'x', request_id: 'missing' };
  await call('spawn_codex', missing);
  await call('spawn_codex', missing);
  await call('continue_agent', { agent_id: 'deadbeef', prompt: 'x' });
  const question = `say ${'x'.repeat(30_000)}`;
  const opinion = { question, engines: ['rehearsal'] };
  await call('second_opinion', opinion);
  await call('second_opinion', { ...opinion, question: 'fail' });
  const { contents } = await server.request('resources/read', {
    uri: `troupe://agents/${running.agent_id}/output`
  });
  answers.push(JSON.stringify(contents));
  expect(running.message).toContain(`"troupe wait ${running.agent_id}"`);
  expect(await unserved()).toEqual([]);
});

test('so are members of squads alone', async () => {
  await start('squad');
  const member = { roleId: 'architect', task: 'sleep 60' };
  const one = { members: [member], background: true };
  const squad = await call('start_squad_members', one);
  const unknown = { members: [{ ...member, roleId: 'nobody' }] };
  await call('start_squad_members', unknown);
  const task = `say ${'x'.repeat(30_000)}`;
  await call('start_squad_members', { members: [{ ...member, task }] });
  expect(squad.message).toContain('"troupe result"');
  expect(await unserved()).toEqual([]);
});

test('a council alone refers to no other tools', async () => {
  await start('council');
  const agent_name = 'me';
  await call('get_current_session_data', { agent_name });
  await call('start_council', { agent_name, request: 'What now?' });
  await call('summon_agent', { engine: 'nobody' });
  await call('summon_agent', { engine: 'codex' });
  await call('summon_agent', { engine: 'rehearsal' });
  await call('get_current_session_data', { agent_name, cursor: 'x' });
  await call('close_council', { agent_name, conclusion: 'Nothing.' });
  await call('send_response', { agent_name, content: 'Late.' });
  expect(await unserved()).toEqual([]);
});

test('nor does an orchestrator', async () => {
  await start('orchestrator');
  const agent_id = 'deadbeef';
  await call('agent_get', { agent_id });
  await call('task_enqueue', { agent_id, task: { payload: {} } });
  await call('events_read', { agent_id, since_seq: 0 });
  const worker = { name: 'w', role: 'architect' };
  await call('agent_create', { ...worker, engine: 'nobody' });
  await call('agent_create', { ...worker, engine: 'codex' });
  await call('agent_create', { ...worker, cwd: '/' });
  expect(await unserved()).toEqual([]);
});
