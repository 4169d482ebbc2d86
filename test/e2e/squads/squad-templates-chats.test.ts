import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type SquadCall,
  squadProgram
} from '../../kit/agents/squad-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/** What stands before words that are no id. */
const noId =
  'what its command printed is not a chat id (1 to 256 of A-Z a-z 0-9 . _ : -, and no "-" first): ';

let workspace: TempWorkspace;
let server: McpClient | undefined;
let program: { calls: () => SquadCall[] };
let chats: { calls: () => SquadCall[] };

const run = 'squaddie "--chat=<%= chatId %>" <%= prompt %>';
const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
  workspace.write('run.template', run);
  program = squadProgram(workspace);
  chats = squadProgram(workspace, 'chats');
});

afterEach(async () => {
  expect(server?.impurities ?? []).toEqual([]);
  await server?.close();
  server = undefined;
  workspace.remove();
});

async function start(createChat?: string, env: Record<string, string> = {}) {
  const given = { CREATE_CHAT_TEMPLATE_PATH: 'create.template' };
  if (createChat !== undefined) workspace.write('create.template', createChat);
  server = await startServer(workspace, {
    env: {
      STATE_MODE: 'stateful',
      RUN_TEMPLATE_PATH: 'run.template',
      ...(createChat === undefined ? {} : given),
      ...env
    }
  });
  return server;
}

const ask = (task: string, chatId?: string | null) => ({
  roleId: 'tester',
  task,
  ...(chatId === undefined ? {} : { chatId })
});

test('a chat is made once, gets its role once, and goes on', async () => {
  const client = await start('chats "[[say <%= generatedUuid %>]]"');
  const first = await startMember(client, ask('One.'));
  const { chatId } = first;
  expect(chatId).toMatch(uuid);
  expect(first).toMatchObject({ status: 'completed', result: 'done' });
  const second = await startMember(client, ask('Two.', chatId));
  expect(second).toMatchObject({ status: 'completed', chatId });
  expect(chats.calls()).toHaveLength(1);
  const [one, two] = program.calls().map(({ argv }) => argv);
  expect(one?.[0]).toBe(`--chat=${chatId}`);
  expect(one?.[1]).toMatch(
    /^# Role\n\nTest it\.\n\n---\n\n# Initial Task\n\nOne\.\n\n---\n\n# Setup/
  );
  expect(two?.[0]).toBe(`--chat=${chatId}`);
  expect(two?.[1]).toMatch(/^# Task\n\nTwo\.\n\n---\n\n# Setup/);
});

test('each member without a chat has one of its own, null and "" included', async () => {
  const client = await start('chats "[[say <%= newChatId %>]]"');
  const { members } = await startSquad(client, [
    ask('One.'),
    ask('Two.', null),
    ask('Three.', ''),
    ask('Four.', 'c-4')
  ]);
  const ids = members.map(({ chatId }) => chatId);
  expect(new Set(ids).size).toBe(4);
  expect(ids[3]).toBe('c-4');
  expect(chats.calls()).toHaveLength(3);
  expect(program.calls().map(({ argv }) => argv[0])).toEqual(
    expect.arrayContaining(ids.map((id) => `--chat=${id}`))
  );
});

test("the command that makes a chat gets the member's name and works in its directory", async () => {
  workspace.write(
    'troupe.config.json',
    '{"squad": {"templateVariables": ["PROJECT_NAME", "NOT_SET"]}}'
  );
  workspace.write('inner/.keep', '');
  const client = await start(
    'chats <%= roleId %> <%= task %> <%= cwd %> <%= newChatId === generatedUuid %> <%= STATE_MODE %> "<%= PROJECT_NAME %>" "<%= NOT_SET %>" "[[say c-1]]"',
    { PROJECT_NAME: '$(id) "x"\n' }
  );
  const cwd = join(workspace.path, 'inner');
  await startMember(client, { ...ask('--task'), cwd: 'inner' });
  const [call] = chats.calls();
  expect(call).toMatchObject({ cwd, stdin: '' });
  expect(call?.argv).toEqual([
    ...['tester', '--task', cwd, 'true', 'stateful', '$(id) "x"\n', ''],
    '[[say c-1]]'
  ]);
  expect(call?.env.PROJECT_NAME).toBe('$(id) "x"\n');
  expect(program.calls()[0]?.env.PROJECT_NAME).toBe('$(id) "x"\n');
});

describe('a chat that is not made fails its member with the cause:', () => {
  test.each([
    ['an exit code', '[[exit 3]] [[err no licence]]', 'code 3: no licence'],
    ['a code and nothing said', '[[exit 3]] [[say ]]', 'with code 3'],
    ['no output', '[[say ]]', 'printed no chat id'],
    ['many words', '[[say Welcome to chats!]]', `${noId}Welcome to chats!`],
    ['many words', '[[say -x]] [[err hm]]', `${noId}-x`],
    ['two ids', '[[say a\nb]]', `${noId}a\nb`],
    ['a flag for an id', '[[say --force]]', `${noId}--force`],
    ['too long an id', `[[chars 257]]`, `${noId}xxx`]
  ])('%s', async (_, task, cause) => {
    const client = await start('chats <%= task %>');
    const { members } = await startSquad(client, [
      ask(task),
      ask('[[say c-2]]')
    ]);
    expect(members[0]).toMatchObject({
      status: 'error',
      rawStdout: '',
      result: '',
      chatId: null,
      error_code: 'spawn_failed',
      error: expect.stringContaining('the chat could not be made: ')
    });
    expect(members[0]?.error).toContain(cause);
    expect(members[1]).toMatchObject({ status: 'completed', chatId: 'c-2' });
    expect(program.calls()).toHaveLength(1);
  });

  test('a program that is missing', async () => {
    const client = await start('<%= task %> "[[say c-2]]"');
    const { members } = await startSquad(client, [ask('nobody'), ask('chats')]);
    expect(members[0]).toMatchObject({
      status: 'error',
      error_code: 'spawn_failed'
    });
    expect(members[0]?.error).toContain('"nobody"');
    expect(members[1]).toMatchObject({ status: 'completed', chatId: 'c-2' });
  });

  test('a program that does not end', async () => {
    const client = await start('chats <%= task %>', {
      PROCESS_TIMEOUT_MS: '3000'
    });
    const { members } = await startSquad(client, [
      ask('[[sleep 600000]]'),
      ask('[[say c-2]]')
    ]);
    expect(members[0]).toMatchObject({ status: 'error', chatId: null });
    expect(members[0]?.error).toContain('was stopped after 3 s');
    expect(members[1]).toMatchObject({ status: 'completed', chatId: 'c-2' });
    expect(program.calls()).toHaveLength(1);
  });

  test('a template that begins none', async () => {
    const client = await start();
    const { members } = await startSquad(client, [
      ask('One.'),
      ask('Two.', 'c-2')
    ]);
    expect(members[0]).toMatchObject({ status: 'error', chatId: null });
    expect(members[0]?.error).toContain('it has no newChatId');
    expect(members[0]?.error).toContain('CREATE_CHAT_TEMPLATE_PATH');
    expect(members[1]).toMatchObject({ status: 'completed', chatId: 'c-2' });
    expect(program.calls()).toHaveLength(1);
  });
});

test('a template that takes an id for a new chat needs no other', async () => {
  workspace.write(
    'run.template',
    'squaddie <% if (chatId) { %> resume <%= chatId %> <% } else { %> new <%= newChatId %> <% } %>'
  );
  const client = await start();
  const { chatId } = await startMember(client, ask('One.'));
  expect(chatId).toMatch(uuid);
  expect(await startMember(client, ask('Two.', chatId))).toMatchObject({
    status: 'completed',
    chatId
  });
  expect(program.calls().map(({ argv }) => argv)).toEqual([
    ['new', chatId],
    ['resume', chatId]
  ]);
});

test('an engine that makes chats by itself makes them for its program’s template', async () => {
  const cursor = squadProgram(workspace, 'cursor-agent');
  workspace.write('run.template', 'cursor-agent -p "--resume=<%= chatId %>"');
  const client = await start();
  const { chatId } = await startMember(client, ask('One.'));
  expect(chatId).toBe('done');
  expect(cursor.calls().map(({ argv }) => argv)).toEqual([
    ['create-chat'],
    ['-p', '--resume=done']
  ]);
});

test('without chats no template makes one', async () => {
  const client = await start('chats', { STATE_MODE: 'stateless' });
  const member = await startMember(client, ask('One.'));
  expect(member).not.toHaveProperty('chatId');
  expect(chats.calls()).toEqual([]);
  expect(program.calls()[0]?.argv[0]).toBe('--chat=');
  const spawns = join(workspace.record, 'spawns');
  const [agent = ''] = readdirSync(spawns);
  expect(existsSync(join(spawns, agent, 'chat'))).toBe(false);
});
