import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mcpFlags } from '../../../src/cli/commands/serve/mcp.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

describe('a configuration file that is wrong stops the start with', () => {
  test.each([
    ['an unknown key', 'troupe.config.json', '{"maxAgents": 3}', 'maxAgents'],
    [
      'a wrong type, with its path',
      'troupe.config.json',
      '{"engines": {"claude": {"timeoutSeconds": "long"}}}',
      'engines.claude.timeoutSeconds'
    ],
    [
      'an unknown setting of an engine',
      '.trouperc.yaml',
      'engines:\n  codex:\n    colour: red\n',
      'colour'
    ],
    ['an impossible number', '.trouperc', 'maxConcurrent: 0', 'maxConcurrent'],
    ['an unknown toolset', '.trouperc', 'toolsets: [nosuch]', 'toolsets.0'],
    ['broken JSON', 'troupe.config.json', '{"maxDepth": ', 'troupe.config'],
    ['broken YAML', '.trouperc.yaml', 'a: [1', '.trouperc.yaml'],
    ['a list', 'troupe.config.json', '[]', 'expected object'],
    ['code that throws', 'troupe.config.mjs', 'throw Error("oops")', 'oops'],
    ['so does CommonJS', 'troupe.config.cjs', 'throw Error("oops")', 'oops'],
    [
      'a wrong key in package.json',
      'package.json',
      '{"troupe": {"maxAccess": "root"}}',
      'maxAccess'
    ]
  ])('%s', async (_, name, text, named) => {
    workspace.write(name, text);
    const { stderr } = await refusedStart();
    expect(stderr).toContain(named);
    expect(stderr).toContain(workspace.path);
  });
});

test.each([
  ['{"maxAccess": "root"}', 'maxAccess', '(not "root")'],
  ['{"maxConcurrent": 0}', 'maxConcurrent', '(not 0)'],
  [
    '{"engines": {"claude": {"enabled": "maybe"}}}',
    'engines.claude.enabled',
    '(not "maybe")'
  ],
  ['{"squad": {"stateMode": "forever"}}', 'squad.stateMode', '"forever"'],
  [
    '{"engines": {"claude": {"timeoutSeconds": true}}}',
    'engines.claude.timeoutSeconds',
    '(not true)'
  ]
])('the value at fault is quoted: %s', async (text, path, value) => {
  workspace.write('troupe.config.json', text);
  const { stderr } = await refusedStart();
  expect(stderr).toContain(`${path} in ${workspace.path}`);
  expect(stderr).toContain(value);
});

test.each([
  '{"engines": {"claude": {"env": {"PIN": 4711471147}}}}',
  '{"engines": {"claude": {"command": 4711471147}}}',
  '{"maxAccess": "sk-proj-4711471147-0123456789"}',
  '{"maxDepth": "my password is 4711471147"}',
  '{"plugins": [4711471147]}'
])('a value that may be a secret is not quoted: %s', async (text) => {
  workspace.write('troupe.config.json', text);
  const { stderr } = await refusedStart();
  expect(stderr).not.toContain('4711471147');
});

test('a configuration that is a link to nowhere stops the start', async () => {
  const file = join(workspace.path, 'troupe.config.json');
  symlinkSync('gone.json', file);
  const { stderr } = await refusedStart();
  expect(stderr).toContain(`${file} cannot be read: it is a link that leads`);
});

describe('a wrong value stops the start and is reported:', () => {
  test.each([
    ['TROUPE_MAX_CONCURRENT', 'many', 'maxConcurrent'],
    ['TROUPE_MAX_CONCURRENT', '0', 'maxConcurrent'],
    ['TROUPE_MAX_DEPTH', '1.5', 'maxDepth'],
    ['TROUPE_MAX_ACCESS', 'root', 'maxAccess'],
    ['TROUPE_ON_DISCONNECT', 'maybe', 'onDisconnect'],
    ['TROUPE_TOOLSETS', 'spawn,nosuch', 'toolsets.1'],
    ['TROUPE_ENGINES', 'claude,nosuch', 'nosuch']
  ])('%s=%s', async (name, value, named) => {
    workspace.write('troupe.config.json', '{"maxDepth": 1}');
    const { stderr } = await refusedStart({ env: { [name]: value } });
    expect(stderr).toContain(named);
    expect(stderr).not.toContain('troupe.config.json');
  });

  test.each([
    ['--on-disconnect', 'maybe', 'onDisconnect'],
    ['--max-access', 'root', 'maxAccess'],
    ['--toolsets', 'nosuch', 'toolsets.0'],
    ['--engines', 'nosuch', 'nosuch'],
    ['--config', '/no/such/file.json', '/no/such/file.json'],
    ['--workspace', '/no/such/folder', '/no/such/folder'],
    ['--no-such-flag', 'x', '--no-such-flag']
  ])('%s %s', async (flag, value, named) => {
    const { stderr } = await refusedStart({ flags: [flag, value] });
    expect(stderr).toContain(named);
  });

  // Of a variable that is not set a shell leaves just this.
  test.each(
    Object.keys(mcpFlags)
      .filter((name) => !['http', 'strict', 'trust'].includes(name))
      .map((name) => `--${name}`)
  )('%s with an empty value', async (flag) => {
    const flags = ['--workspace', workspace.path, flag, ''];
    const { stderr } = await refusedStart({ flags });
    expect(stderr).toContain(`The value of ${flag} is empty. Give it one`);
  });

  test('a list that names nothing', async () => {
    const { stderr } = await refusedStart({ flags: ['--engines', ' ,'] });
    expect(stderr).toContain('The value of --engines is empty.');
  });

  test('a workspace that is a file', async () => {
    const file = workspace.write('file', '');
    const { stderr } = await refusedStart({ flags: ['--workspace', file] });
    expect(stderr).toContain(file);
    expect(stderr).toContain('is not a directory');
  });
});

test('the flag that is right wins over a file that says otherwise', async () => {
  workspace.write('troupe.config.json', '{"maxAccess": "read"}');
  const server = await startServer(workspace, {
    flags: ['--max-access', 'write', '--engines', 'rehearsal'],
    env: { TROUPE_MAX_ACCESS: 'full' }
  });
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say hi' });
  expect(data.message).toContain('access write');
  await server.close();
});

describe('a plugin that does not load', () => {
  const plugins = [
    './throws.mjs',
    './empty.mjs',
    './nameless.mjs',
    './missing.mjs',
    'no-such-package'
  ];

  beforeEach(() => {
    workspace.write('throws.mjs', 'throw new Error("broken inside");');
    workspace.write('empty.mjs', 'export const engine = {};');
    workspace.write('nameless.mjs', 'export default { kind: "cli" };');
    workspace.write('troupe.config.json', JSON.stringify({ plugins }));
  });

  test('is left out and reported in list, in instructions and on stderr', async () => {
    const server = await startServer(workspace, { raw: true });
    const { instructions } = await initialize(server);
    const { data } = await server.call('list');
    const faults = data.faults as { plugin: string; problem: string }[];
    expect(faults.map(({ plugin }) => plugin)).toEqual(plugins);
    for (const { plugin, problem } of faults) {
      expect(problem).toMatch(/\w{3}/);
      expect(server.stderr).toContain(plugin);
      expect(String(instructions)).toContain(plugin);
    }
    expect(String(instructions).length).toBeLessThanOrEqual(1500);
    expect(server.stderr).toContain('broken inside');
    expect(data.running).toEqual([]);
    expect(server.impurities).toEqual([]);
    await server.close();
  });

  test('stops the start when it is strict', async () => {
    const { stderr } = await refusedStart({ flags: ['--strict'] });
    expect(stderr).toContain('./throws.mjs');
    expect(stderr).toContain('broken inside');
  });
});

function initialize(server: McpClient): Promise<Record<string, unknown>> {
  return server.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'troupe-test', version: '1' }
  });
}

/** Starts a server that must end with exit code 1 and say nothing on stdout. */
async function refusedStart(options: ServerOptions = {}): Promise<McpClient> {
  const server = await startServer(workspace, { ...options, raw: true });
  expect(await server.exited).toEqual({ code: 1, signal: null });
  expect(server.impurities).toEqual([]);
  expect(server.notifications).toEqual([]);
  expect(server.stderr).toMatch(/^troupe: .{20}/);
  expect(server.stderr).not.toMatch(/^ {4}at /m);
  return server;
}
