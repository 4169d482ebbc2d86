import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pathsOf } from '../../../src/core/paths/paths.ts';
import { until } from '../../kit/judges/until.ts';
import { McpClient, testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

/** Every place that a server could take for its workspace. */
const places = ['flag', 'project', 'cwd', 'root', 'second root'];

interface Start {
  cwd: string;
  flags?: string[];
  env?: Record<string, string>;
  /** The roots the client offers; none: it knows no roots. */
  roots?: string[];
  /** The client is asked and never answers. */
  silent?: boolean;
}

let base: TempWorkspace;
let server: McpClient;
let instructions: string;

beforeEach(() => {
  base = createTempWorkspace();
  for (const place of places) mkdirSync(path(place));
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  base.remove();
});

function path(place: string): string {
  return join(base.path, place);
}

describe('the workspace is', () => {
  test('what --workspace says, before all else', async () => {
    await start({
      cwd: path('cwd'),
      flags: ['--workspace', path('flag')],
      env: { CLAUDE_PROJECT_DIR: path('project') },
      roots: [path('root')]
    });
    expect(await worksIn()).toEqual([path('flag')]);
    expect(asked()).toBe(0);
  });

  test('CLAUDE_PROJECT_DIR without the flag', async () => {
    await start({
      cwd: base.home,
      env: { CLAUDE_PROJECT_DIR: path('project') },
      roots: [path('root')]
    });
    expect(await worksIn()).toEqual([path('project')]);
    expect(asked()).toBe(0);
  });

  test('the working directory without both, roots or not', async () => {
    await start({ cwd: path('cwd'), roots: [path('root')] });
    expect(instructions).toContain(`logs/IAC.md in ${path('cwd')}`);
    expect(await worksIn()).toEqual([path('cwd')]);
    expect(asked()).toBe(0);
  });

  test.each(['/', 'HOME'])(
    "the client's first root where the working directory is %s",
    async (cwd) => {
      await start({
        cwd: cwd === 'HOME' ? base.home : cwd,
        roots: [path('root'), path('second root')]
      });
      expect(instructions).toContain('logs/IAC.md in the workspace');
      expect(await worksIn()).toEqual([path('root')]);
      expect(asked()).toBe(1);
    }
  );

  test("the client's first root where HOME is a link to the working directory", async () => {
    const env = { HOME: path('home by a link') };
    symlinkSync(base.home, env.HOME);
    await start({ cwd: base.home, env, roots: [path('root')] });
    expect(await worksIn()).toEqual([path('root')]);
    expect(asked()).toBe(1);
    // The user's record alone.
    expect(readdirSync(base.home)).toEqual(['.troupe']);
  });

  test('a root whose address is escaped', async () => {
    await start({ cwd: '/', roots: [path('second root')] });
    expect(await worksIn()).toEqual([path('second root')]);
  });

  test('HOME itself where the client knows no roots', async () => {
    await start({ cwd: base.home });
    expect(await worksIn()).toEqual([base.home]);
    expect(asked()).toBe(0);
  });

  test('HOME itself where the client has none to offer', async () => {
    await start({ cwd: base.home, roots: [] });
    expect(await worksIn()).toEqual([base.home]);
  });

  test('HOME itself half a second after a client that does not answer', async () => {
    await start({ cwd: base.home, roots: [path('root')], silent: true });
    const began = performance.now();
    await server.request('tools/list');
    expect(performance.now() - began).toBeLessThan(1000);
    expect(await worksIn()).toEqual([base.home]);
    expect(asked()).toBe(1);
  });
});

describe('a server does not start', () => {
  test('in a workspace that does not exist', async () => {
    await start({ cwd: path('cwd'), flags: ['--workspace', path('gone')] });
    expect(await server.exited).toMatchObject({ code: 1 });
    expect(server.stderr).toContain(path('gone'));
  });

  test('with a configuration that is not valid, found through a root', async () => {
    base.write('root/.trouperc.json', '{"maxConcurrent": "many"}');
    await start({ cwd: base.home, roots: [path('root')] });
    expect(await server.exited).toMatchObject({ code: 1 });
    expect(server.stderr).toContain('maxConcurrent');
  });

  test.each([[['root']], [[]], [undefined]])(
    'with squads that could never run, where the client offers %j',
    async (roots) => {
      const flags = ['--agents-directory-path', 'nowhere'];
      await start({
        cwd: base.home,
        flags,
        ...(roots === undefined ? {} : { roots: roots.map(path) })
      });
      expect(await server.exited).toMatchObject({ code: 1 });
      expect(server.stderr).toContain('AGENTS_DIRECTORY_PATH');
    }
  );
});

async function start({ cwd, flags = [], env, roots, silent }: Start) {
  const child = spawn(process.execPath, [troupe, 'mcp', ...flags], {
    cwd,
    env: testEnvironment(base, { TROUPE_ENGINES: 'rehearsal', ...env })
  });
  server = new McpClient(child);
  const greeting = await server
    .request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: roots ? { roots: {} } : {},
      clientInfo: { name: 'troupe-test', version: '1' }
    })
    .catch(() => undefined);
  instructions = String(greeting?.instructions);
  server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  if (!roots || silent) return;
  // It is asked before anything else is answered, or not at all.
  const listed = server.request('tools/list').catch(() => undefined);
  const question = until('roots/list', () =>
    server.notifications.find(({ method }) => method === 'roots/list')
  ).catch(() => undefined);
  const asked = await Promise.race([question, listed.then(() => undefined)]);
  if (!asked) return;
  const uris = roots.map((root) => ({ uri: pathToFileURL(root).href }));
  server.send({ jsonrpc: '2.0', id: asked.id, result: { roots: uris } });
  await listed;
}

function asked(): number {
  return server.notifications.filter(({ method }) => method === 'roots/list')
    .length;
}

/** Where an agent of this server leaves traces. */
async function worksIn(): Promise<string[]> {
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say here' });
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  const all = [...places.map(path), base.path, base.home];
  const home = join(base.home, '.troupe');
  return all.filter((place) => {
    const { journal, views, shared } = pathsOf(realpathSync(place), home);
    return [journal, views.directory, shared.directory].some(existsSync);
  });
}
