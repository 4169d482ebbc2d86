import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let servers: McpClient[] = [];

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  expect(servers.map(({ stderr }) => stderr).join('')).toBe('');
  workspace.remove();
});

async function start(count: number, settings: object = {}) {
  workspace.write(
    '.trouperc.json',
    JSON.stringify({ engines: { rehearsal: true }, ...settings })
  );
  servers = await Promise.all(
    Array.from({ length: count }, () => startServer(workspace))
  );
}

async function spawn(server: McpClient, prompt: string): Promise<string> {
  const { data, text } = await server.call('spawn_rehearsal', { prompt });
  expect(data.status, text).toMatch(/running|queued/);
  return String(data.agent_id);
}

/** Of two servers that make it at once, one may put a .gitignore there. */
const spawns = () =>
  readdirSync(join(workspace.record, 'spawns')).filter((name) =>
    /^[0-9a-f]{8}$/.test(name)
  );

test('while two servers spawn and read, cleans take what was read, and nothing is missed', async () => {
  await start(2);
  const unread: string[] = [];
  const read: string[] = [];
  const work = async (server: McpClient, other: McpClient) => {
    for (let turn = 0; turn < 9; turn += 1) {
      const id = await spawn(server, `say turn ${turn}`);
      if (turn % 3 === 0) {
        unread.push(id);
        continue;
      }
      const reader = turn % 2 === 0 ? server : other;
      const { data } = await reader.call('wait_for_agents', {
        agent_ids: [id]
      });
      const [result] = data.results as Record<string, unknown>[];
      expect(result?.result).toContain(`turn ${turn}`);
      read.push(id);
      const again = await other.call('result', { agent_id: id });
      expect(again.data.status).toMatch(/^(completed|not_found)$/);
      if (again.data.status === 'not_found')
        expect(again.data.message).toContain('was removed (troupe clean)');
    }
  };
  const [one, two] = servers as [McpClient, McpClient];
  let isOver = false;
  const cleaning = async () => {
    let count = 0;
    while (!isOver) {
      const { code, stdout } = await runCommand(workspace, [
        ...['clean', '--keep', '0', '--yes', '--json']
      ]);
      expect(code, stdout).toBe(0);
      count += JSON.parse(stdout).removed.length;
    }
    return count;
  };
  const cleans = [cleaning(), cleaning()];
  await Promise.all([work(one, two), work(two, one)]);
  isOver = true;
  const counts = await Promise.all(cleans);
  const last = await runCommand(workspace, ['clean', '--keep', '0', '--yes']);
  expect(last.code).toBe(0);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  expect(spawns().sort()).toEqual(unread.sort());
  const gone = await one.call('result', { agent_id: read[0] });
  expect(gone.data).toMatchObject({
    status: 'not_found',
    message: expect.stringContaining('was removed (troupe clean)')
  });
  const { data } = await two.call('list', { limit: 50 });
  expect(data.completed_ids).toHaveLength(unread.length);
});

test('above the limit of the disk a server spawns nothing, and what runs goes on', async () => {
  await start(1, { diskLimitMegabytes: 0.02 });
  const [server] = servers as [McpClient];
  const long = await spawn(server, `say ${'x'.repeat(30_000)}\nsleep 1`);
  const refused = await server.call('spawn_rehearsal', { prompt: 'say no' });
  expect(refused.isError).toBe(true);
  expect(refused.data).toMatchObject({
    error_code: 'disk_limit',
    error: 'The folders of agents hold 1 MB; diskLimitMegabytes is 0.02.'
  });
  const { data } = await server.call('wait_for_agents', { agent_ids: [long] });
  expect(data.status).toBe('all_completed');
  await runCommand(workspace, ['clean', '--keep', '0', '--yes']);
  await spawn(server, 'say yes');
});

test('a server cleans by itself where this is configured', async () => {
  await start(1);
  const [first] = servers as [McpClient];
  const [read, unread] = [await spawn(first, 'say a'), await spawn(first, 'b')];
  await first.call('wait_for_agents', { agent_ids: [read] });
  const outcome = join(workspace.record, 'spawns', unread);
  await until('its end', () => existsSync(join(outcome, 'outcome.json')));
  await first.close();
  await start(1, { retention: { keep: 0, automatic: true } });
  await until('one to go', () => !spawns().includes(read));
  expect(spawns()).toEqual([unread]);
  const journal = join(workspace.record, 'iac.jsonl');
  await until('its record', () =>
    readFileSync(journal, 'utf8').includes('"type":"cleaned"')
  );
});
