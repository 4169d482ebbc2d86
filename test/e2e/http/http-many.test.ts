import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  httpClient,
  type StartedHttp,
  startHttp
} from '../../kit/servers/http-server.ts';
import { ask, initialize, message } from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: StartedHttp;

beforeEach(async () => {
  workspace = createTempWorkspace();
  server = await startHttp(workspace, { flags: ['--toolsets', 'all'] });
});

afterEach(async () => {
  expect(await server.end()).toBe(0);
  workspace.remove();
});

const call = message('tools/call', { name: 'list', arguments: {} });

/** A client's whole life. */
async function comeAndGo(): Promise<void> {
  const { headers: answered } = await ask(server, { body: initialize });
  const headers = { 'mcp-session-id': String(answered['mcp-session-id']) };
  for (const body of [message('tools/list'), call])
    expect((await ask(server, { headers, body })).status).toBe(200);
  const end = await ask(server, { method: 'DELETE', headers });
  expect(end.status).toBe(200);
}

async function manyComeAndGo(count: number): Promise<void> {
  const each = 4;
  for (let come = 0; come < count; come += each)
    await Promise.all(Array.from({ length: each }, comeAndGo));
}

function megabytes(): number {
  const status = readFileSync(`/proc/${server.command.child.pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(String(status))?.[1]) / 1024;
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux(
  'sessions that have ended leave nothing behind (on linux)',
  async () => {
    await manyComeAndGo(60);
    // Each had tools of its own: with them each time would add some 60 MB.
    // Garbage that waits for its collection does so only now and then.
    const added: number[] = [];
    while (added.length < 3 && !added.some((more) => more < 30)) {
      const before = megabytes();
      await manyComeAndGo(140);
      added.push(megabytes() - before);
    }
    expect(Math.min(...added)).toBeLessThan(30);
  }
);

test('all sessions that may be there work at once', async () => {
  const clients = await Promise.all(
    Array.from({ length: 32 }, () => httpClient(server))
  );
  const prompt = 'sleep 0.2\nsay done';
  const waited = await Promise.all(
    clients.map(async (client) => {
      const { data } = await client.call('spawn_rehearsal', { prompt });
      const agent_ids = [String(data.agent_id)];
      return (await client.call('wait_for_agents', { agent_ids })).text;
    })
  );
  for (const text of waited) expect(text).toContain('done');
  await Promise.all(clients.map((client) => client.leave()));
});

test('many calls of one client wait at once without a warning', async () => {
  const client = await httpClient(server);
  const { data } = await client.call('spawn_rehearsal', { prompt: 'hang' });
  const agent_ids = [String(data.agent_id)];
  const waits = Array.from({ length: 30 }, () =>
    client.call('wait_for_agents', { agent_ids, timeout: 40 })
  );
  await client.call('list');
  await client.call('cancel_agent', { agent_id: agent_ids[0] });
  for (const { data } of await Promise.all(waits))
    expect(data.status).toBe('all_completed');
  await client.leave();
  expect(server.command.stderr).not.toMatch(/warning/i);
});
