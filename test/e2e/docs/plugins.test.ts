import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { apiSource } from '../../kit/agents/wrong-plugins.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { install, packed } from '../../kit/workspaces/npm-package.ts';
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
  await server?.close();
  expect(server?.impurities ?? []).toEqual([]);
  workspace.remove();
});

const shout = (name: string) =>
  `{ kind: 'cli', name: '${name}', description: 'Says it loud.',
    command: 'tr', args: () => ['a-z', 'A-Z'] }`;
const echo = (name: string) =>
  apiSource(name, 'async ({ prompt }) => ({ text: prompt, finished: true })');

/** Plugin → what is said of it. */
const broken: Record<string, [source: string | undefined, said: RegExp]> = {
  './engines/missing.mjs': [undefined, /^there is no file \/.+missing\.mjs/],
  'not-installed': [
    undefined,
    /not installed in \/.*npm install not-installed/
  ],
  'engines/shout.mjs': [undefined, /write "\.\/engines\/shout\.mjs"/],
  '~/x.mjs': [undefined, /neither a path .* nor the name of a package/],
  './engines': [undefined, /is a directory/],
  './engines/syntax.mjs': ['export default {', /not valid JavaScript.*--check/],
  './engines/throws.mjs': ['throw new Error("boom")', /was loaded: boom$/],
  './engines/odd.mjs': ['throw Object.create(null)', /without words/],
  './engines/none.mjs': ['export const x = {};', /no default export/],
  './engines/exits.mjs': ['process.exit(7)', /process\.exit/],
  './engines/needs.mjs': ['import "nosuchdep"', /Cannot find package 'nosuch/],
  './engines/twin.mjs': [
    `export default ${shout('shout')}`,
    /\.\/engines\/shout\.mjs has the name "shout" already/
  ],
  './engines/shape.mjs': [
    'export default { kind: "cli", name: "shape", description: "x", command: "x", args: () => [], models: { aliases: { fast: 7 } }, env: { keep: "HOME" } }',
    /models\.aliases\.fast: expected string.*; env\.keep: expected array/
  ],
  './engines/waits.mjs': ['await new Promise(() => {})', /after 5 s.*await/],
  './engines/waits-too.mjs': ['await new Promise(() => {})', /after 5 s/]
};

/** These load, and do what they should not. */
const rude: Record<string, string> = {
  prints: 'console.log("print"); process.stdout.write("more");',
  strays:
    'Promise.reject(new Error("stray one")); setTimeout(() => { throw new Error("stray two"); });',
  leaves: 'setTimeout(() => process.exit(3));',
  frozen: ''
};

function writePlugins(): string[] {
  for (const [name, [source]] of Object.entries(broken))
    if (source !== undefined) workspace.write(name, source);
  workspace.write('engines/shout.mjs', `export default ${shout('shout')};`);
  for (const [name, code] of Object.entries(rude))
    workspace.write(
      `engines/${name}.mjs`,
      `${code} export default Object.freeze(${shout(name)});`
    );
  const loading = ['shout', ...Object.keys(rude)];
  return [
    ...loading.map((name) => `./engines/${name}.mjs`),
    ...Object.keys(broken)
  ];
}

function configure(plugins: string[]): void {
  workspace.write('troupe.config.json', JSON.stringify({ plugins }));
}

/** What a caller sees of an engine, from its tool to its answer. */
async function behaviourOf(engine: string, client: McpClient) {
  const { tools } = await client.request('tools/list');
  const name = `spawn_${engine.replaceAll('-', '_')}`;
  const tool = (tools as { name: string }[]).find((one) => one.name === name);
  const spawned = await client.call(name, { prompt: 'hello' });
  const agent_id = String(spawned.data.agent_id);
  await client.call('wait_for_agents', { agent_ids: [agent_id] });
  const { data } = await client.call('result', { agent_id });
  const { status, result, error, error_code, agent_type, model } = data;
  return { tool, status, result, error, error_code, agent_type, model };
}

describe('next to plugins that are broken in every way', () => {
  test('a healthy one behaves as it does alone', async () => {
    const plugins = writePlugins();
    configure(plugins.slice(0, 1));
    server = await startServer(workspace);
    const alone = await behaviourOf('shout', server);
    await server.close();
    configure(plugins);
    server = await startServer(workspace);
    expect(await behaviourOf('shout', server)).toEqual(alone);
    expect(alone).toMatchObject({ status: 'completed', result: 'HELLO' });
    expect(alone.tool).toBeDefined();
  });

  test('each is reported in a sentence to act on, and the rude ones work', async () => {
    configure(writePlugins());
    server = await startServer(workspace);
    for (const name of Object.keys(rude)) {
      const { status, result } = await behaviourOf(name, server);
      expect({ name, status, result }).toMatchObject({ result: 'HELLO' });
    }
    const { faults } = (await server.call('list')).data;
    const told = faults as { plugin: string; problem: string }[];
    expect(told.map(({ plugin }) => plugin)).toEqual(Object.keys(broken));
    for (const { plugin, problem } of told) {
      expect(problem).toMatch(broken[plugin]?.[1] ?? /^$/);
      expect(problem).not.toMatch(/load-engines|mcp\.cjs|\/dist\/|file:/);
      expect(server.stderr).toContain(`${plugin} was left out: ${problem}`);
    }
    for (const said of ['print', 'stray one', 'stray two', 'process.exit'])
      expect(server.stderr).toContain(said);
    expect(server.child.exitCode).toBeNull();
  });

  test('the command line prints nothing of theirs and survives them', async () => {
    configure(writePlugins());
    const { code, stdout } = await runCommand(workspace, ['doctor', '--json']);
    expect(code).toBe(1);
    const { faults, ok } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(faults).toHaveLength(Object.keys(broken).length);
  });
});

test('one broken plugin stops a strict start, whatever the rest are', async () => {
  configure(writePlugins());
  server = await startServer(workspace, { flags: ['--strict'], raw: true });
  expect(await server.exited).toEqual({ code: 1, signal: null });
  expect(server.stderr).toContain('missing.mjs');
  expect(server.notifications).toEqual([]);
});

test('engines load from a tarball, a file and the configuration itself', async () => {
  workspace.write(
    'package/package.json',
    JSON.stringify({
      name: '@acme/troupe-engines',
      version: '1.0.0',
      type: 'module',
      exports: {
        '.': { import: './shout.js' },
        './echo': { import: { types: './echo.d.ts', default: './echo.js' } }
      }
    })
  );
  workspace.write('package/shout.js', `export default ${shout('tar-shout')};`);
  workspace.write('package/echo.js', `export default ${echo('tar-echo')};`);
  install(workspace, packed(workspace, `${workspace.path}/package`).file);
  workspace.write('engines/echo.mjs', `export default ${echo('file-echo')};`);
  workspace.write(
    'troupe.config.mjs',
    `export default { plugins: ['@acme/troupe-engines',
       '@acme/troupe-engines/echo', './engines/nosuch.mjs',
       './engines/echo.mjs', ${shout('inline-shout')}, ${echo('inline-echo')}] };`
  );
  server = await startServer(workspace);
  const engines = ['tar', 'inline'].map((where) => `${where}-shout`);
  for (const name of engines)
    expect(await behaviourOf(name, server)).toMatchObject({
      status: 'completed',
      result: 'HELLO'
    });
  for (const name of ['tar-echo', 'file-echo', 'inline-echo'])
    expect(await behaviourOf(name, server)).toMatchObject({
      status: 'completed',
      result: 'hello',
      agent_type: name
    });
});

test('an engine that has gone from the configuration fails by name', async () => {
  workspace.write('engines/echo.mjs', `export default ${echo('echo')};`);
  configure(['./engines/echo.mjs']);
  server = await startServer(workspace);
  workspace.write('engines/echo.mjs', 'export default');
  expect(await behaviourOf('echo', server)).toMatchObject({
    status: 'failed',
    error_code: 'spawn_failed',
    error: expect.stringMatching(/^Echo could not be loaded: it is not valid/)
  });
});

test('a plugin with the name of a built-in engine replaces it', async () => {
  workspace.write('engines/claude.mjs', `export default ${shout('claude')};`);
  configure(['./engines/claude.mjs']);
  server = await startServer(workspace);
  const { tool, result } = await behaviourOf('claude', server);
  expect(tool).toMatchObject({
    description: expect.stringContaining('Says it loud.')
  });
  expect(result).toBe('HELLO');
});

test('a plugin in the place of a built-in engine is shown as one', async () => {
  workspace.write('mine.mjs', `export default ${shout('claude')};`);
  workspace.write('other.mjs', `export default ${shout('other')};`);
  const plugins = ['./mine.mjs', './other.mjs'];
  workspace.write('troupe.config.json', JSON.stringify({ plugins }));
  const replaced = [{ engine: 'claude', plugin: './mine.mjs' }];
  server = await startServer(workspace);
  expect((await server.call('list', {})).data).toMatchObject({ replaced });
  const run = (...words: string[]) => runCommand(workspace, words);
  const said = 'claude is the plugin ./mine.mjs, not the built-in engine';
  for (const command of ['engines', 'list']) {
    const { stderr } = await run(command);
    expect(stderr).toContain(said);
    expect(stderr).not.toContain('./other.mjs');
  }
  expect((await run('doctor')).stdout).toMatch(
    /plugin +\.\/mine\.mjs, in place of the built-in engine/
  );
  for (const command of ['engines', 'doctor']) {
    const { stdout } = await run(command, '--json');
    const { engines } = JSON.parse(stdout);
    const isReplaced = (engine: object) => 'replaced_by' in engine;
    expect(engines.filter(isReplaced)).toMatchObject([
      { name: 'claude', replaced_by: './mine.mjs' }
    ]);
  }
  const { stdout } = await run('list', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ replaced });
});
