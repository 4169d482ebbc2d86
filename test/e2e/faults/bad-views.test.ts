import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { addGateAgent } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk,
  type SmallDisk
} from '../../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const testMounted = needing('right to mount a disk', canMount());

let workspace: TempWorkspace;
let server: McpClient;
let disk: SmallDisk | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  disk?.unmount();
  disk = undefined;
  workspace.remove();
});

describe('agents run, and their answers are read,', () => {
  test.each(['logs', '.agents', 'logs/IAC.md/file', 'logs/agents'])(
    'when the project has a file %s',
    async (name) => {
      const file = workspace.write(name, 'precious');
      addGateAgent(workspace);
      server = await startServer(workspace);
      await run();
      expect((await server.call('list')).isError).toBe(false);
      await server.request('resources/list');
      const kept = file.replace('IAC.md', 'IAC.before-troupe.md');
      const place = [file, kept].find((path) => existsSync(path)) ?? '';
      expect(readFileSync(place, 'utf8')).toBe('precious');
      expect(server.stderr).not.toMatch(/unexpectedly|^\s+at /m);
    }
  );

  testMounted('when the workspace is read-only', async () => {
    disk = mountSmallDisk(workspace.path, 1024);
    addGateAgent(workspace);
    await disk.setReadOnly(true);
    server = await startServer(workspace);
    const first = await run();
    await until('the report', () => server.stderr.includes('EROFS'));
    await disk.setReadOnly(false);
    const second = await run();
    const view = join(workspace.paths.views.directory, 'IAC.md');
    await until('both in the log', () =>
      [first, second].every((id) => readIfExists(view)?.includes(`#${id}`))
    );
  });
});

describe('directories', () => {
  test('of ours are private and ignore themselves in git', async () => {
    await runOne();
    for (const directory of [workspace.paths.home, pathOf('logs')]) {
      expect(modeOf(directory)).toBe(0o700);
      expect(readFileSync(join(directory, '.gitignore'), 'utf8')).toBe('*\n');
      for (const file of filesBelow(directory))
        expect([file, modeOf(file)]).toEqual([file, 0o600]);
    }
    expect(modeOf(workspace.record)).toBe(0o700);
  });

  test('that were there before keep their mode and their files', async () => {
    for (const name of ['.agents', 'logs']) {
      mkdirSync(pathOf(name));
      chmodSync(pathOf(name), 0o755);
      workspace.write(`${name}/notes.md`, 'mine');
    }
    await runOne();
    for (const name of ['.agents', 'logs']) {
      expect(modeOf(pathOf(name))).toBe(0o755);
      expect(existsSync(pathOf(name, '.gitignore'))).toBe(false);
      expect(readFileSync(pathOf(name, 'notes.md'), 'utf8')).toBe('mine');
    }
  });
});

test('a foreign audit log is not lost', async () => {
  const files = ['logs/IAC.md', 'logs/CONTEXT.md'];
  for (const file of files) workspace.write(file, `older words in ${file}`);
  await runOne();
  await until('our log', () =>
    readIfExists(pathOf('logs', 'IAC.md'))?.includes('**Done**')
  );
  const all = filesBelow(pathOf('logs')).map((file) =>
    readFileSync(file, 'utf8')
  );
  for (const file of files)
    expect(all.some((text) => text.includes(`older words in ${file}`))).toBe(
      true
    );
});

test.each(['.troupe', '.troupe/workspaces'])(
  'a server with a file in the place of ~/%s does not start, and says why',
  async (name) => {
    const file = workspace.write(`../home/${name}`, 'precious');
    server = await startServer(workspace, { raw: true });
    expect(await server.exited).toMatchObject({ code: 1 });
    expect(server.stderr).toContain(workspace.paths.home);
    expect(server.stderr).toContain('TROUPE_HOME');
    expect(readFileSync(file, 'utf8')).toBe('precious');
  }
);

/** An agent from its start to its answer. */
async function run(): Promise<string> {
  const prompt = join(workspace.home, 'gate');
  writeFileSync(prompt, '');
  const spawned = await server.call('spawn_gate', { prompt });
  const { agent_id } = spawned.data;
  expect(spawned.data.status, spawned.text).toBe('running');
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 20 });
  const { data } = await server.call('result', { agent_id });
  expect(data).toMatchObject({ status: 'completed', result: 'answer' });
  return String(agent_id);
}

async function runOne(): Promise<void> {
  addGateAgent(workspace);
  server = await startServer(workspace);
  await run();
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function pathOf(...parts: string[]): string {
  return join(workspace.path, ...parts);
}
