import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../../kit/servers/mcp-client.ts';
import { listedRoles } from '../../kit/servers/role-list.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/standard.md', 'x');
  for (const name of ['flag', 'variable', 'file'])
    workspace.write(`roles/of-${name}/by-${name}.md`, 'x');
});

afterEach(async () => {
  expect(server?.impurities ?? []).toEqual([]);
  await server?.close();
  workspace.remove();
});

/** Ids of the workspace's own roles, and some that are built in. */
async function idsWith(options: ServerOptions): Promise<string[]> {
  server = await startServer(workspace, options);
  const ids = (await listedRoles(server)).map(({ id }) => id);
  return ids.filter((id) => /^(by-.*|standard|architect)$/.test(id));
}

const flags = ['--agents-directory-path', 'roles/of-flag'];
const env = { AGENTS_DIRECTORY_PATH: 'roles/of-variable' };
const configure = (rolesDirectory: string) =>
  workspace.write('troupe.config.json', JSON.stringify({ rolesDirectory }));

test('without a setting, roles lie in agents/ of the workspace', async () => {
  expect(await idsWith({ cwd: workspace.home })).toEqual([
    'architect',
    'standard'
  ]);
});

test('the configuration names another directory in the workspace', async () => {
  configure('roles/of-file');
  expect(await idsWith({ cwd: workspace.home })).toEqual([
    'architect',
    'by-file'
  ]);
});

test('AGENTS_DIRECTORY_PATH goes before the configuration', async () => {
  configure('roles/of-file');
  expect(await idsWith({ cwd: workspace.home, env })).toEqual([
    'architect',
    'by-variable'
  ]);
});

test('--agents-directory-path goes before both', async () => {
  configure('roles/of-file');
  expect(await idsWith({ cwd: workspace.home, env, flags })).toEqual([
    'architect',
    'by-flag'
  ]);
});

test('the directory may lie anywhere', async () => {
  const elsewhere = join(workspace.path, 'roles', 'of-file');
  const flags = ['--agents-directory-path', elsewhere];
  expect(await idsWith({ flags })).toEqual(['architect', 'by-file']);
});

test.each<[string, ServerOptions, string, string]>([
  ['a flag', { flags: ['--agents-directory-path', 'lost'] }, '', 'lost'],
  ['a variable', { env: { AGENTS_DIRECTORY_PATH: 'lost' } }, '', 'lost'],
  ['the configuration', {}, 'lost', 'lost'],
  ['a file', {}, 'agents/standard.md', 'agents/standard.md']
])(
  'a directory that is not there, named by %s, stops the start',
  async (_, options, configured, named) => {
    if (configured !== '') configure(configured);
    server = await startServer(workspace, { ...options, raw: true });
    const { stderr } = server.child;
    expect(await server.exited).toEqual({ code: 1, signal: null });
    await until('stderr ends', () => stderr?.readableEnded);
    expect(server.stderr).toBe(
      `troupe: AGENTS_DIRECTORY_PATH (rolesDirectory) names ${join(workspace.path, named)}, and there is no such directory. Relative paths start at the workspace. Correct the path, or leave it out.\n`
    );
  }
);
