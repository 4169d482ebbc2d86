import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processesOf } from '../../kit/agents/probe-agent.ts';
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

testMounted('to continue on a full disk is refused as such', async () => {
  const made = makeSmallDisk(1024);
  disk = made;
  workspace.remove();
  workspace = createTempWorkspace(made.directory);
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
