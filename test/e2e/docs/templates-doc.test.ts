import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import {
  blocksOf,
  documentAt,
  firstColumn,
  packageRoot,
  sectionOf
} from '../../kit/judges/documents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { refusal, startMember } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const document = documentAt('docs/guides/templates.md');
const [plain, naming, script, choosing, making, resuming, ...others] = blocksOf(
  document,
  'ejs'
);

let workspace: TempWorkspace;
let server: McpClient | undefined;
let program: ReturnType<typeof squadProgram>;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', '---\nmodel: mini\n---\nTest it.');
  program = squadProgram(workspace, 'my-agent');
});

afterEach(async () => {
  await server?.close();
  expect(server?.impurities ?? []).toEqual([]);
  server = undefined;
  workspace.remove();
});

async function start(
  template = '',
  createChat?: string,
  env: Record<string, string> = {}
) {
  workspace.write('run.template', template);
  if (createChat !== undefined) workspace.write('create.template', createChat);
  server = await startServer(workspace, {
    env: {
      RUN_TEMPLATE_PATH: 'run.template',
      ENGINE: 'my-agent',
      ...(createChat && { CREATE_CHAT_TEMPLATE_PATH: 'create.template' }),
      ...env
    }
  });
  return server;
}

const ask = (task: string) => ({ roleId: 'tester', task });
const calls = () => program.calls().map(({ argv }) => argv);
const stateful = { STATE_MODE: 'stateful' };

test('no example is left out here', () => {
  expect(resuming).toContain('agent');
  expect(others).toEqual([]);
});

test('the first example does what the page says of it', async () => {
  const client = await start(plain);
  expect(await startMember(client, ask('[[say  hello ]]'))).toMatchObject({
    status: 'completed',
    result: 'hello'
  });
  expect(calls()).toEqual([['--quiet', '--directory', workspace.path]]);
  expect(program.calls()[0]?.stdin).toMatch(/^# Role\n\nTest it\./);
  expect(await startMember(client, ask('[[say ]]'))).toMatchObject({
    status: 'completed',
    result: ''
  });
  expect(await startMember(client, ask('[[exit 2]]'))).toMatchObject({
    status: 'error'
  });
});

test('conditions, loops and variables give the arguments that they show', async () => {
  const [settings = ''] = blocksOf(document, 'json');
  workspace.write('troupe.config.json', settings);
  const client = await start(naming, undefined, { PROJECT_NAME: 'a "b"' });
  await startMember(client, ask('--go'));
  expect(calls()).toEqual([
    [
      ...['--model=mini', '--allow=read', '--allow=search'],
      ...['--title', 'tester in a "b"', '--', expect.stringMatching(/^# Role/)]
    ]
  ]);
  expect(program.calls()[0]?.stdin).toBe('');
});

test('a script takes the place of a pipe', async () => {
  const [source = ''] = blocksOf(document, 'sh');
  chmodSync(workspace.write('agent.sh', source), 0o755);
  const client = await start(script);
  expect(await startMember(client, ask('[[say one\n"two"]]'))).toMatchObject({
    status: 'completed',
    rawStdout: '"two"\n'
  });
  expect(calls()).toEqual([['--task', '[[say one\n"two"]]']]);
});

test('a program that takes the id of a new chat gets one', async () => {
  const client = await start(choosing, undefined, stateful);
  const { chatId } = await startMember(client, ask('One.'));
  await startMember(client, { ...ask('Two.'), chatId: chatId ?? null });
  expect(calls()).toEqual([[`--session-id=${chatId}`], [`--resume=${chatId}`]]);
  await client.close();
  await startMember(await start(choosing), ask('Three.'));
  expect(calls().at(-1)).toEqual([]);
});

test('a program that makes chats is asked for one', async () => {
  workspace.write('agents/[[say c-1]].md', 'Test it.');
  const client = await start(resuming, making, stateful);
  const member = { roleId: '[[say c-1]]', task: 'One.' };
  expect(await startMember(client, member)).toMatchObject({ chatId: 'c-1' });
  const [made, ran] = calls();
  expect(made).toEqual(['new-chat', '--name', '[[say c-1]]']);
  expect(ran?.slice(0, -1)).toEqual([
    ...['--approve-mcps', '--print', '--resume', 'c-1', 'agent']
  ]);
  expect(ran?.at(-1)).toMatch(/^# Role\n.*# Initial Task\n\nOne\./s);
});

test('the names are exactly the names of the table', async () => {
  const all = '<% for (const name in it) { %> <%= name %> <% } %>';
  const client = await start(`my-agent ${all}`);
  await startMember(client, ask('One.'));
  const listed = firstColumn(sectionOf(document, '## What it may name'));
  expect(calls()[0]?.toSorted()).toEqual(listed.toSorted());
});

test('what it calls refused is refused', async () => {
  const client = await start('my-agent');
  const [sentence = ''] = /^What only a shell .*$/m.exec(document.text) ?? [];
  const [outside = '', everywhere = ''] = sentence.split(' are refused every');
  const [first = '', tags = ''] = outside.split('backticks. ');
  const signs = (text: string) =>
    [...text.matchAll(/`([^`]+)`/g)].map(([, sign]) => sign);
  expect(signs(first).length).toBeGreaterThan(6);
  expect(signs(tags)).toHaveLength(2);
  expect(everywhere).toContain('template_invalid');
  const quoted = signs(tags).map((tag) => `"${tag} cwd %>"`);
  for (const text of [...signs(first), '`x`', ...quoted]) {
    workspace.write('run.template', `my-agent ${text}x`);
    const { error_code } = await refusal(client, [ask('One.')]);
    expect(error_code, text).toBe('template_invalid');
  }
  expect(calls()).toEqual([]);
});

test('the package has the templates that it lists', () => {
  const heading = '## Templates that come with troupe';
  const listed = firstColumn(sectionOf(document, heading));
  const files = readdirSync(join(packageRoot, 'templates'));
  expect(listed.toSorted()).toEqual(
    files.map((file) => `templates/${file}`).toSorted()
  );
});
