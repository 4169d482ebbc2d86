import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processesOf } from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  canMount,
  makeSmallDisk,
  type SmallDisk
} from '../../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const testMounted = needing('right to mount a disk', canMount());

let workspace: TempWorkspace;
let disk: SmallDisk | undefined;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server?.close();
  disk?.unmount();
  disk = undefined;
  workspace.remove();
});

async function start(): Promise<McpClient> {
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace);
  return server;
}

async function spawned(client: McpClient, prompt: string): Promise<string> {
  const { data } = await client.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

test('an agent is ended by a cancel though the journal takes no word', async () => {
  const client = await start();
  const agent_id = await spawned(client, 'hang');
  const journal = join(workspace.record, 'iac.jsonl');
  renameSync(journal, `${journal}.away`);
  mkdirSync(journal);
  const { text } = await client.call('cancel_agent', { agent_id });
  expect(processesOf(agent_id), text).toEqual([]);
  expect(text).toContain('"canceled"');
  rmdirSync(journal);
  renameSync(`${journal}.away`, journal);
});

function onSmallDisk(kilobytes: number) {
  const made = makeSmallDisk(kilobytes);
  disk = made;
  workspace.remove();
  workspace = createTempWorkspace(made.directory);
  return made;
}

testMounted('to continue on a full disk is refused as such', async () => {
  const made = onSmallDisk(1024);
  const client = await start();
  const agent_id = await spawned(client, 'say hello');
  await client.call('wait_for_agents', { agent_ids: [agent_id] });
  made.fill();
  const prompt = 'say it again';
  const refused = await client.call('continue_agent', { agent_id, prompt });
  expect(refused.data.error_code).toBe('storage_full');
  made.free();
  const { data } = await client.call('continue_agent', { agent_id, prompt });
  expect(data.status).toBe('running');
});

testMounted(
  'a queued agent that a full disk keeps from being canceled is no bug, and is listed',
  async () => {
    const made = onSmallDisk(1024);
    const settings = { engines: { rehearsal: true }, maxConcurrent: 1 };
    workspace.write('troupe.config.json', JSON.stringify(settings));
    const client = await startServer(workspace);
    server = client;
    const first = await spawned(client, 'hang');
    const second = await spawned(client, 'say hello');
    made.fill();
    const refused = await runCommand(workspace, ['cancel', second, '--json']);
    expect(JSON.parse(refused.stdout).error).toMatchObject({
      code: 'storage_full',
      message: expect.stringMatching(/^The disk that holds .* is full\.$/),
      hint: expect.stringContaining('Free some space')
    });
    await client.call('cancel_agent', { agent_id: first });
    const { code, stdout, stderr } = await runCommand(workspace, ['list']);
    expect({ code, stdout }, stderr).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(second)
    });
    expect(stderr).toContain(
      `Agent ${first} has ended, but its result cannot be recorded.`
    );
    made.free();
  }
);

testMounted('an end on a read-only disk is refused as such', async () => {
  const made = onSmallDisk(2048);
  const client = await start();
  const agent_id = await spawned(client, 'sleep 2');
  const journal = join(workspace.record, 'iac.jsonl');
  await until('a closed journal', () => !opened(client.pid).includes(journal));
  client.child.kill('SIGSTOP');
  await until('its end', () => processesOf(agent_id).length === 0);
  await made.setReadOnly(true);
  client.child.kill('SIGCONT');
  const refused = await client.call('result', { agent_id });
  expect(refused.data).toMatchObject({
    error_code: 'storage_unwritable',
    error: expect.stringContaining('EROFS'),
    hint: expect.stringContaining('writable')
  });
  await made.setReadOnly(false);
  await client.call('wait_for_agents', { agent_ids: [agent_id] });
  const { data } = await client.call('result', { agent_id });
  expect(data.status).toBe('completed');
});

/** The files that a process has open. */
function opened(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).map((name) => {
    try {
      return readlinkSync(join(directory, name));
    } catch {
      return '';
    }
  });
}
