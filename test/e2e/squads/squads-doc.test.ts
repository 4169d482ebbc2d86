import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { roleDirectoriesOf } from '../../../src/config/squads.ts';
import { RoleRepository } from '../../../src/core/squads/role-repository.ts';
import {
  blocksOf,
  documentAt,
  fencedIn,
  rowsIn,
  sectionOf
} from '../../kit/judges/documents.ts';
import { ShownTalk } from '../../kit/judges/shown-talk.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const page = documentAt('docs/guides/squads.md');
const [rehearsal = '', withChats = ''] = blocksOf(page, 'json').filter(
  (block) => Object.keys(JSON.parse(block)).join() === 'squad'
);
const [role = '', ...prompts] = blocksOf(page, 'markdown');

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/reader.md', role);
});

afterEach(async () => {
  await server?.close();
  workspace.remove();
});

/** A server as set up by the page. */
async function start(config: string): Promise<McpClient> {
  workspace.write('troupe.config.json', config);
  server = await startServer(workspace);
  return server;
}

test.each([
  ['## In a minute', rehearsal, 1],
  ['## start_squad_members', rehearsal, 3],
  ['## Chats', withChats, 2]
])('the calls of "%s" are answered as it shows', async (heading, config, n) => {
  const talk = new ShownTalk(await start(config));
  expect(await talk.play(fencedIn(sectionOf(page, heading)))).toBe(n);
});

test('list_roles returns the role of the page as shown', async () => {
  const { data } = await (await start(rehearsal)).call('list_roles');
  const [shown = ''] = blocksOf(
    { ...page, text: sectionOf(page, '## list_roles') },
    'json'
  );
  expect(data.roles).toContainEqual(JSON.parse(shown));
});

test('members get their layouts byte for byte', async () => {
  const [plain = '', begun = '', goingOn = '', footer = ''] = prompts.map(
    (block) => block.slice(0, -1)
  );
  const layouts = [plain, begun, goingOn].map((layout) =>
    layout.replace('<footer>', () => footer)
  );
  const body = 'You read code and answer in one sentence.';
  const task = 'say $& <task>\r\n\t`x` \\n  \n\nsay 日本語 ';
  const told = (layout = '') =>
    layout.replace('<role>', () => body).replace('<task>', () => task);
  const promptOf = (agentId: string) =>
    readFileSync(
      join(workspace.record, 'spawns', agentId, 'prompt.txt'),
      'utf8'
    );
  const stateless = await start(rehearsal);
  const one = await startMember(stateless, { roleId: 'reader', task });
  expect(promptOf(one.agentId)).toBe(told(layouts[0]));
  await stateless.close();
  const stateful = await start(withChats);
  const first = await startMember(stateful, { roleId: 'reader', task });
  expect(promptOf(first.agentId)).toBe(told(layouts[1]));
  const { chatId } = first;
  const input = { roleId: 'reader', task, chatId: chatId ?? '' };
  const next = await startMember(stateful, input);
  expect(promptOf(next.agentId)).toBe(told(layouts[2]));
});

const object = z.object({ properties: z.record(z.string(), z.unknown()) });
const startTool = z.object({
  inputSchema: object.extend({
    properties: z.looseObject({ members: z.object({ items: object }) })
  })
});

test('the page has every field of a call, and of the answer', async () => {
  const client = await start(withChats);
  const { tools } = await client.request('tools/list');
  const tool = z
    .array(z.looseObject({ name: z.string() }))
    .parse(tools)
    .find(({ name }) => name === 'start_squad_members');
  const { properties } = startTool.parse(tool).inputSchema;
  const members = Object.keys(properties.members.items.properties);
  const answered = await startMember(client, {
    roleId: 'reader',
    task: 'fail network out of order'
  });
  const section = sectionOf(page, '## start_squad_members');
  expect(
    rowsIn(section.slice(0, section.indexOf('### '))).flatMap(([first = '']) =>
      [...first.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
    )
  ).toEqual(
    expect.arrayContaining([
      ...Object.keys(properties),
      ...members.map((name) => `members[].${name}`),
      ...Object.keys(answered).filter((key) => key !== 'status')
    ])
  );
});

test('the reference has every built-in role, with what it is for', async () => {
  const nowhere = join(workspace.path, 'no-roles');
  const { builtin } = roleDirectoriesOf(workspace.path, undefined);
  const repository = new RoleRepository(
    { builtin, own: nowhere },
    ({ path, problem }) => expect.fail(`${path}: ${problem}`)
  );
  const { roles } = await repository.all();
  expect(roles.length).toBeGreaterThanOrEqual(24);
  expect(documentAt('README.md').text).toContain(
    `There are ${roles.length} [built-in roles]`
  );
  expect(page.text).toContain(`${roles.length} roles come with troupe`);
  const reference = documentAt('docs/reference/tools.md');
  expect(rowsIn(sectionOf(reference, '## Built-in roles'))).toEqual(
    roles.map(({ id, description }) => [`\`${id}\``, description])
  );
});

test('what squads need is not asked for where they are not served', async () => {
  const flags = ['--toolsets', 'spawn,runs', '--engine', 'nobody'];
  server = await startServer(workspace, { flags });
  const { isError } = await server.call('list');
  expect(isError).toBe(false);
});
