import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { squadAgents } from '../../kit/agents/squad-agents.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { until } from '../../kit/judges/until.ts';
import {
  McpClient,
  type ServerOptions,
  startServer,
  testEnvironment
} from '../../kit/servers/mcp-client.ts';
import { listedRoles } from '../../kit/servers/role-list.ts';
import { installOurs } from '../../kit/workspaces/npm-package.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  server = undefined;
});

afterEach(async () => {
  expect(server?.impurities ?? []).toEqual([]);
  await server?.close();
  workspace.remove();
});

async function start(options: ServerOptions = {}): Promise<McpClient> {
  server = await startServer(workspace, options);
  return server;
}

const idsOf = async (client: McpClient) =>
  (await listedRoles(client)).map(({ id }) => id);

const builtin = readdirSync(join(packageRoot, 'agents'))
  .map((name) => name.replace(/\.md$/, ''))
  .sort();

const broken = '---\nname: a: b\n---\nYou test.\n';

/** All that the server ever said on stderr. */
async function lastWords(client: McpClient): Promise<string> {
  await client.close();
  await until('stderr ends', () => client.child.stderr?.readableEnded);
  return client.stderr;
}

test('a link to itself in place of agents/ hides no built-in role and is reported', async () => {
  const own = join(workspace.path, 'agents');
  symlinkSync(own, own);
  const client = await start();
  expect(await idsOf(client)).toEqual(builtin);
  expect(await lastWords(client)).toContain(
    `There are no roles in ${own}: it is a link that leads in a circle.`
  );
});

test('list_roles gives id, name and description of each role, and no more', async () => {
  workspace.write(
    'agents/baker.md',
    '---\nname: Master baker\ndescription: Bakes.\nengine: codex\nmodel: m\naccess: read\ntools: Read\n---\nYou bake.'
  );
  workspace.write('agents/plain.md', 'You do.');
  const roles = await listedRoles(await start());
  for (const role of roles)
    expect(Object.keys(role)).toEqual(['id', 'name', 'description']);
  expect(roles.filter(({ id }) => !builtin.includes(id))).toEqual([
    { id: 'baker', name: 'Master baker', description: 'Bakes.' },
    { id: 'plain', name: 'plain', description: '' }
  ]);
  const architect = roles.find(({ id }) => id === 'architect');
  expect(architect?.description).toMatch(/^Decides system structure.*\.$/);
});

test('every built-in role is there, wherever the server is started', async () => {
  for (const cwd of ['/', workspace.home, join(packageRoot, 'src')]) {
    const client = await start({ cwd });
    expect(await idsOf(client), cwd).toEqual(builtin);
    await client.close();
  }
});

test('the package that npm installs has the built-in roles', async () => {
  const installed = join(installOurs(workspace), 'dist', 'troupe.cjs');
  const child = spawn(process.execPath, [installed, 'mcp'], {
    cwd: workspace.path,
    env: testEnvironment(workspace)
  });
  server = new McpClient(child);
  await server.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'troupe-test', version: '1' }
  });
  expect(await idsOf(server)).toEqual(builtin);
});

test('a role that comes, changes or goes counts at the next call', async () => {
  const client = await start();
  expect(await idsOf(client)).toEqual(builtin);
  workspace.write('agents/architect.md', 'Ours.');
  workspace.write('agents/baker.md', 'One.');
  const roles = await listedRoles(client);
  expect(roles.map(({ id }) => id)).toEqual([...builtin, 'baker'].sort());
  expect(roles.find(({ id }) => id === 'architect')?.description).toBe('');
  workspace.write('agents/baker.md', '---\nname: Two\n---\nOne.');
  expect(await listedRoles(client)).toContainEqual({
    id: 'baker',
    name: 'Two',
    description: ''
  });
  rmSync(join(workspace.path, 'agents'), { recursive: true });
  expect(await listedRoles(client)).toEqual(
    expect.not.arrayContaining([expect.objectContaining({ id: 'baker' })])
  );
  expect(await idsOf(client)).toEqual(builtin);
});

test('a member gets its role as the file has it at that time', async () => {
  const agents = squadAgents(workspace);
  const client = await start();
  const told = async (task: string) => {
    const members = [{ roleId: 'architect', task }];
    const { isError, text } = await client.call('start_squad_members', {
      members
    });
    expect(isError, text).toBe(false);
    return (await agents.call(`# Task\n\n${task}`)).stdin;
  };
  expect(await told('First.')).toMatch(/^# Role\n\nYou are responsible for/);
  workspace.write('agents/architect.md', '---\nmodel: opus\n---\n\nOurs.\n\n');
  expect(await told('Second.')).toMatch(
    /^# Role\n\nOurs\.\n\n---\n\n# Task\n\nSecond\.\n\n---\n/
  );
  expect((await agents.call('Second.')).argv.join(' ')).toContain('opus');
  workspace.write('agents/architect.md', 'Else.');
  expect(await told('Third.')).toMatch(/^# Role\n\nElse\.\n\n---/);
  rmSync(join(workspace.path, 'agents/architect.md'));
  expect(await told('Fourth.')).toMatch(/^# Role\n\nYou are responsible for/);
});

test('a faulty file hides itself only, and stderr says why once', async () => {
  const path = workspace.write('agents/architect.md', broken);
  workspace.write('agents/baker.md', 'You bake.');
  const client = await start();
  const lists = await Promise.all([idsOf(client), idsOf(client)]);
  for (const ids of [...lists, await idsOf(client)])
    expect(ids).toEqual(
      [...builtin, 'baker'].filter((id) => id !== 'architect').sort()
    );
  const { isError, data } = await client.call('start_squad_members', {
    members: [{ roleId: 'architect', task: 'Decide.' }]
  });
  expect(isError).toBe(true);
  expect(data).toMatchObject({
    error_code: 'unknown_role',
    error: expect.stringContaining(`${path} cannot be used: Nested mappings`)
  });
  expect(await lastWords(client)).toMatch(
    /^troupe: The role .+architect\.md cannot be used: [^\n]* line 2, column 7; [^\n]*in quotes\. The built-in role "architect" does not take its place\.\n$/
  );
});

test('what is no role at all does not hold the server up', async () => {
  const hostile = ['a: &a [x]', ...Array(9).fill('b: [*a,*a,*a,*a,*a,*a,*a]')];
  workspace.write('agents/bomb.md', `---\n${hostile.join('\n')}\n---\n`);
  workspace.write(
    'agents/keys.md',
    `---\n${Array.from({ length: 90_000 }, (_, index) => `k${index}: v`).join('\n')}\n---\n`
  );
  workspace.write('agents/large.md', 'x'.repeat(2_000_000));
  workspace.write('agents/README.md', broken);
  mkdirSync(join(workspace.path, 'agents/folder.md'));
  const client = await start();
  expect(await idsOf(client)).toEqual(builtin);
  const said = await lastWords(client);
  expect(said.match(/cannot be used/g)).toHaveLength(4);
  expect(said).not.toContain('README');
});
