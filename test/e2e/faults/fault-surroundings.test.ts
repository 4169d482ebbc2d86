import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { canMount, mountSmallDisk } from '../../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const testMounted = needing('right to mount a disk', canMount());
const testWatchless = needing(
  'right to make a user namespace',
  process.platform === 'linux' && locate('unshare') !== undefined
);

let workspace: TempWorkspace;
let server: McpClient;
let gate: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  gate = join(workspace.home, 'gate');
  addGateAgent(workspace);
});

afterEach(async () => {
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toMatch(/bug|unexpectedly|^\s+at /m);
  workspace.remove();
});

async function start(options: ServerOptions): Promise<void> {
  server = await startServer(workspace, options);
}

async function spawned(): Promise<string> {
  const { data, text } = await server.call('spawn_gate', { prompt: gate });
  expect(data.status, text).toBe('running');
  await saidAnswer(workspace, String(data.agent_id));
  return String(data.agent_id);
}

async function ended(agent_id: string) {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 20 });
  return (await server.call('result', { agent_id })).data;
}

describe('a server works as always', () => {
  test('without a home directory, where TROUPE_HOME names one', async () => {
    const HOME = join(workspace.home, 'nowhere');
    const refused = await startServer(workspace, { env: { HOME }, raw: true });
    expect(await refused.exited).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain('TROUPE_HOME');
    expect(existsSync(HOME)).toBe(false);
    await start({ env: { HOME, TROUPE_HOME: workspace.paths.home } });
    await expectWork();
  });

  test('without a directory for temporary files', async () => {
    await start({ env: { TMPDIR: join(workspace.home, 'nowhere') } });
    await expectWork();
  });

  testMounted('with no room for temporary files', async () => {
    const directory = join(workspace.home, 'tmp');
    mkdirSync(directory);
    const disk = mountSmallDisk(directory, 64);
    try {
      disk.fill();
      await start({ env: { TMPDIR: directory } });
      await expectWork();
    } finally {
      disk.unmount();
    }
  });

  testWatchless('without a single file watch', async () => {
    const none = 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"';
    await start({ under: ['unshare', '-Ur', 'sh', '-c', none, 'sh'] });
    const id = await spawned();
    const waiting = server.call('wait_for_agents', { agent_ids: [id] });
    const began = performance.now();
    writeFileSync(gate, '');
    expect((await waiting).data.status).toBe('all_completed');
    expect(performance.now() - began).toBeLessThan(2000);
    await expectWork();
  });
});

async function expectWork(): Promise<void> {
  writeFileSync(gate, '');
  expect(await ended(await spawned())).toMatchObject({ status: 'completed' });
  const council = { agent_name: 'one', request: 'Which?' };
  const started = await server.call('start_council', council);
  expect(started.data.error_code).not.toBe('internal');
}
