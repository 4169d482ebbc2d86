import { chmodSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  nodeShebang,
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
  server = await startServer(workspace, {
    env: { RUN_TEMPLATE_PATH: 'run.template', ...env }
  });
  return server;
}

const ask = (task: string) => ({ roleId: 'tester', task });

async function resultOf(client: McpClient, agent_id: string) {
  return (await client.call('result', { agent_id })).data;
}

describe('a command of several lines with a condition', () => {
  const text = String.raw`cursor-agent --approve-mcps --model composer-1 --print \
<% if (chatId) { %> --resume <%= chatId %> <% } %> \
agent "<%= prompt %>"
`;
  const flags = ['--approve-mcps', '--model', 'composer-1', '--print'];

  test('works without chats', async () => {
    const program = squadProgram(workspace, 'cursor-agent');
    const client = await start(text);
    const member = await startMember(client, ask('Look "here".'));
    expect(member).toMatchObject({ status: 'completed', result: 'done' });
    const [call] = program.calls();
    expect(call).toMatchObject({ cwd: workspace.path, stdin: '' });
    expect(call?.argv).toEqual([...flags, 'agent', expect.any(String)]);
    expect(call?.argv.at(-1)).toMatch(
      /^# Role\n\nTest it\.\n\n---\n\n# Task\n\nLook "here"\.\n\n---\n\n# Setup/
    );
  });

  test('works with chats, which the program itself makes', async () => {
    const program = squadProgram(workspace, 'cursor-agent');
    workspace.write(
      'create-chat.template',
      'cursor-agent create-chat "[[say c-4711]]"\n'
    );
    const client = await start(text, {
      STATE_MODE: 'stateful',
      CREATE_CHAT_TEMPLATE_PATH: 'create-chat.template'
    });
    const { chatId } = await startMember(client, ask('First.'));
    expect(chatId).toBe('c-4711');
    await startMember(client, { ...ask('Second.'), chatId: 'c-4711' });
    const [made, first, second] = program.calls();
    expect(made?.argv).toEqual(['create-chat', '[[say c-4711]]']);
    const resumed = [...flags, '--resume', 'c-4711', 'agent'];
    expect(first?.argv.slice(0, -1)).toEqual(resumed);
    expect(first?.argv.at(-1)).toMatch(/^# Role\n.*# Initial Task\n\nFirst\./s);
    expect(second?.argv.slice(0, -1)).toEqual(resumed);
    expect(second?.argv.at(-1)).toMatch(/^# Task\n\nSecond\./);
    expect(program.calls()).toHaveLength(3);
  });
});

test('ENGINE_COMMAND is the program, and not named twice', async () => {
  const program = squadProgram(workspace, 'mine');
  const client = await start('run --fast\n', { ENGINE_COMMAND: program.file });
  await startMember(client, ask('One.'));
  workspace.write('run.template', `"${program.file}" run --fast`);
  await startMember(client, ask('Two.'));
  workspace.write('run.template', '');
  await startMember(client, ask('Three.'));
  const words = ['run', '--fast'];
  expect(program.calls().map(({ argv }) => argv)).toEqual([words, words, []]);
});

test('a program is looked for in the workspace when it is a path', async () => {
  squadProgram(workspace);
  const source = `${nodeShebang}\nconsole.log('from the workspace');`;
  const file = workspace.write('tools/agent.cjs', source);
  workspace.write('inner/.keep', '');
  const client = await start('tools/agent.cjs');
  const missing = await startMember(client, ask('One.'));
  expect(missing).toMatchObject({ status: 'error' });
  expect(missing.error).toContain(`${file} is not a program that can be run`);
  chmodSync(file, 0o755);
  const member = { ...ask('Two.'), cwd: 'inner' };
  expect(await startMember(client, member)).toMatchObject({
    status: 'completed',
    result: 'from the workspace'
  });
});

test('a prompt that no argument names goes to stdin, however long it is', async () => {
  const program = squadProgram(workspace);
  const client = await start('squaddie "--role=<%= roleId %>"');
  const task = `${'x'.repeat(300_000)} [[say read]]`;
  expect(await startMember(client, ask(task))).toMatchObject({
    status: 'completed',
    result: 'read'
  });
  const [call] = program.calls();
  expect(call?.argv).toEqual(['--role=tester']);
  expect(call?.stdin).toMatch(/^# Role\n\nTest it\.\n\n---\n\n# Task\n\nxxx/);
  expect(call?.stdin.includes(task)).toBe(true);
});

describe('a member', () => {
  test('is reported by exit code and output, under the name of ENGINE', async () => {
    squadProgram(workspace);
    const client = await start('squaddie "<%= task %>"', {
      ENGINE: 'the house’s | own <b>'
    });
    const { members } = await startSquad(
      client,
      [
        '[[say   padded\t]] [[err note]]',
        '[[exit 3]] [[err broken]]',
        '[[exit 4]] [[say no luck]]'
      ].map(ask)
    );
    expect(members[0]).toMatchObject({
      status: 'completed',
      rawStdout: '  padded\t\n',
      rawStderr: 'note\n',
      result: 'padded'
    });
    expect(members[1]).toMatchObject({
      status: 'error',
      rawStdout: 'done\n',
      rawStderr: 'broken\n'
    });
    expect(members[2]).toMatchObject({
      status: 'error',
      rawStdout: 'no luck\n',
      error: expect.stringContaining('code 4: no luck')
    });
    const [good, bad] = await Promise.all(
      members.map(({ agentId }) => resultOf(client, agentId))
    );
    expect(good).toMatchObject({
      agent_type: 'the house’s | own <b>',
      status: 'completed',
      success: true,
      result: 'padded'
    });
    expect(bad).toMatchObject({
      agent_type: 'the house’s | own <b>',
      status: 'failed',
      error: expect.stringContaining('broken')
    });
  });

  test('may say nothing at all', async () => {
    const client = await start('true');
    const member = await startMember(client, ask('Be quiet.'));
    expect(member).toMatchObject({
      status: 'completed',
      rawStdout: '',
      result: ''
    });
    expect(await resultOf(client, member.agentId)).toMatchObject({
      status: 'completed',
      success: true,
      error: null
    });
  });

  test('is stopped at its time limit', async () => {
    const client = await start('tail -f /dev/null', {
      PROCESS_TIMEOUT_MS: '1000'
    });
    const member = await startMember(client, ask('Wait.'));
    expect(member).toMatchObject({ status: 'timeout', result: '' });
    expect(member.error).toContain('PROCESS_TIMEOUT_MS');
    expect(member.error).not.toContain('larger timeout');
  });

  test('fails when its program is missing, and the rest run', async () => {
    workspace.program('yes-agent', 'console.log("here")');
    const client = await start('<%= task %>-agent');
    const { members } = await startSquad(client, ['no', 'yes'].map(ask));
    expect(members.map(({ status }) => status)).toEqual(['error', 'completed']);
    expect(members[0]).toMatchObject({
      error_code: 'not_installed',
      error: expect.stringContaining('no program "no-agent" on PATH')
    });
  });

  test.each([
    [
      'true',
      'stateless',
      /the member again in a squad.*needs to know into its task/
    ],
    [
      'echo <%= newChatId %>',
      'stateful',
      /its member the chatId "[0-9a-f-]{36}".*a new chat/
    ]
  ])(
    'does not go on by continue_agent: %j, %s',
    async (template, STATE_MODE, what) => {
      const client = await start(template, { ENGINE: 'claude', STATE_MODE });
      const { agentId } = await startMember(client, ask('One.'));
      const { isError, data } = await client.call('continue_agent', {
        agent_id: agentId,
        prompt: 'More.'
      });
      expect(isError).toBe(true);
      expect(data.error_code).toBe('no_session');
      expect(data.error).toContain(`Agent ${agentId} (Claude) came from a `);
      expect(data.hint).toMatch(what);
    }
  );

  test('runs on the template, whatever engine its role names', async () => {
    const program = squadProgram(workspace);
    workspace.write('agents/odd.md', '---\nengine: codex\n---\nTest it.');
    const client = await start('squaddie', { ENGINE: 'mine' });
    const member = await startMember(client, { roleId: 'odd', task: 'One.' });
    expect(member).toMatchObject({ status: 'completed' });
    expect(await resultOf(client, member.agentId)).toMatchObject({
      agent_type: 'mine'
    });
    expect(program.calls()).toHaveLength(1);
  });
});
