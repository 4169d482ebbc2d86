import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let agents: SquadAgents;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  server = undefined;
});

afterEach(async () => {
  await server?.close();
  workspace.remove();
});

async function start(env: Record<string, string> = {}, flags: string[] = []) {
  server = await startServer(workspace, { env, flags });
  return server;
}

async function callOf(client: McpClient, roleId = 'tester') {
  const member = await startMember(client, { roleId, task: `As ${roleId}.` });
  expect(member.status, member.error).toBe('completed');
  return agents.call(`As ${roleId}.`);
}

describe("a role's head settles", () => {
  const role = (head: string) =>
    workspace.write(
      'agents/special.md',
      `---\nname: Special\ncolor: red\ntools: [Bash]\n${head}\n---\nYou are.`
    );

  test('the engine, and the model in its own words', async () => {
    role('engine: codex\nmodel: gpt-next');
    const { name, argv } = await callOf(await start(), 'special');
    expect(name).toBe('codex');
    expect(argv.join(' ')).toContain('-m gpt-next');
  });

  test.each([
    ['read', 'Read,Glob,Grep', 'dontAsk'],
    ['write', 'Read,Write,Edit,Glob,Grep', 'acceptEdits']
  ])('access: %s', async (access, tools, mode) => {
    role(`access: ${access}\nmodel: opus`);
    const { argv } = await callOf(await start(), 'special');
    expect(argv[argv.indexOf('--model') + 1]).toBe('opus');
    expect(argv[argv.indexOf('--tools') + 1]).toBe(tools);
    expect(argv[argv.indexOf('--permission-mode') + 1]).toBe(mode);
  });

  test('no more access than maxAccess leaves', async () => {
    role('access: full');
    const client = await start({ TROUPE_MAX_ACCESS: 'read' });
    for (const roleId of ['special', 'tester']) {
      const { argv } = await callOf(client, roleId);
      expect(argv[argv.indexOf('--tools') + 1]).toBe('Read,Glob,Grep');
    }
  });
});

test('without a word from anybody it is claude, with full access', async () => {
  const { name, argv } = await callOf(await start());
  expect(name).toBe('claude');
  expect(argv).toContain('--dangerously-skip-permissions');
  expect(argv[argv.indexOf('--model') + 1]).toBe('sonnet');
});

test('ENGINE_COMMAND is the program, with the arguments of the engine', async () => {
  const codex = workspace.program(
    'own-codex',
    "process.env.RAN_BY = 'own-codex'; require('./codex');"
  );
  workspace.write('agents/special.md', '---\nengine: claude\n---\nYou are.');
  const client = await start({ ENGINE: 'codex', ENGINE_COMMAND: codex });
  const own = await callOf(client);
  expect(own.argv.slice(0, 2)).toEqual(['exec', '--json']);
  expect(own.env.RAN_BY).toBe('own-codex');
  // A role's own engine has a program of its own.
  expect((await callOf(client, 'special')).name).toBe('claude');
});

test('continue_agent goes on with the program that ENGINE_COMMAND named', async () => {
  workspace.program(
    'own-codex',
    "process.env.RAN_BY = 'own-codex'; require('./codex');"
  );
  const engines = { codex: { args: ['-c', 'x=1'] } };
  workspace.write('.trouperc.json', JSON.stringify({ engines }));
  const env = { ENGINE: 'codex', ENGINE_COMMAND: '../bin/own-codex' };
  const first = await start(env);
  let { agentId } = await startMember(first, { roleId: 'tester', task: 'x' });
  await first.close();
  // A server without it starts no other program, and keeps no turn.
  const other = await start();
  const refused = { agent_id: agentId, prompt: 'Go on without.' };
  expect((await other.call('continue_agent', refused)).data).toMatchObject({
    error_code: 'no_session',
    hint: expect.stringContaining('squad.engineCommand')
  });
  await other.close();
  const second = await start(env);
  for (const prompt of ['Go on.', 'And on.']) {
    const input = { agent_id: agentId, prompt };
    const { data, text } = await second.call('continue_agent', input);
    agentId = String(data.agent_id);
    const call = await agents.call(prompt);
    expect(call.argv.slice(0, 3), text).toEqual(['-c', 'x=1', 'exec']);
    expect(call.argv).toContain('resume');
    expect(call.env.RAN_BY).toBe('own-codex');
    await second.call('wait_for_agents', { agent_ids: [agentId] });
  }
});

describe('a flag wins over the environment, and that over the file:', () => {
  const file = () =>
    workspace.write('.trouperc.json', '{"squad": {"engine": "copilot"}}');

  test('the file', async () => {
    workspace.write('.trouperc.json', '{"squad": {"engine": "codex"}}');
    expect((await callOf(await start())).name).toBe('codex');
  });

  test('the environment', async () => {
    file();
    expect((await callOf(await start({ ENGINE: 'codex' }))).name).toBe('codex');
  });

  test('the flag', async () => {
    file();
    const client = await start({ ENGINE: 'gemini-cli' }, ['--engine', 'codex']);
    expect((await callOf(client)).name).toBe('codex');
  });
});

test('every setting has its flag', async () => {
  workspace.write('roles/tester.md', 'You test elsewhere.');
  const client = await start({ STATE_MODE: 'stateless', ENGINE: 'codex' }, [
    ...['--state-mode', 'stateful'],
    ...['--engine', 'claude'],
    ...['--engine-command', workspace.program('mine', "require('./claude');")],
    ...['--agents-directory-path', 'roles'],
    ...['--process-timeout-ms', '700000'],
    ...['--execution-mode', 'sequential'],
    ...['--sequential-delay-ms', '0']
  ]);
  const member = await startMember(client, { roleId: 'tester', task: 'Go.' });
  expect(member.chatId).toEqual(expect.any(String));
  const { stdin } = await agents.call('Go.');
  expect(stdin).toContain('You test elsewhere.');
});

describe('a bad value stops the start and is named:', () => {
  test.each([
    ['ENGINE', 'no-such-engine', /no-such-engine.*Use one of claude/],
    ['STATE_MODE', 'statefull', /"stateless".*"stateful"/],
    ['EXECUTION_MODE', 'both', /"parallel".*"sequential"/],
    ['PROCESS_TIMEOUT_MS', 'soon', /number/],
    ['PROCESS_TIMEOUT_MS', '0', />=1/],
    ['PROCESS_TIMEOUT_MS', '-1', />=1/],
    ['SEQUENTIAL_DELAY_MS', 'never', /number/],
    ['AGENTS_DIRECTORY_PATH', 'no/such', /no\/such.*no such directory/],
    ['RUN_TEMPLATE_PATH', 'no-such', /no-such.*no such file/],
    ['CREATE_CHAT_TEMPLATE_PATH', 'no-such', /no-such.*no such file/]
  ])('%s=%s', async (name, value, problem) => {
    const flag = `--${name.toLowerCase().replaceAll('_', '-')}`;
    const named = new RegExp(`\\b${name}\\b|${flag}\\b`);
    for (const options of [
      { env: { [name]: value } },
      { flags: [`${flag}=${value}`] }
    ]) {
      const client = await startServer(workspace, { ...options, raw: true });
      expect(await client.exited).toEqual({ code: 1, signal: null });
      expect(client.stderr).toMatch(named);
      expect(client.stderr).toMatch(problem);
      expect(client.stderr.trim().split('\n')).toHaveLength(1);
      expect(client.impurities).toEqual([]);
    }
  });
});
