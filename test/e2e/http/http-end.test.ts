import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type HttpClient,
  httpClient,
  type StartedHttp,
  startHttp,
  tokenFileOf
} from '../../kit/servers/http-server.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { ask, initialize } from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

async function spawned(client: HttpClient, prompt: string): Promise<string> {
  const { data } = await client.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

/** How an agent stands for a server that comes later. */
async function statusOf(agent_id: string): Promise<unknown> {
  const server = await startServer(workspace);
  const { data } = await server.call('result', { agent_id });
  await server.call('cancel_agent', { agent_id });
  await server.close();
  return data.status;
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  test('ends the server within 5 s, and answers a wait first', async () => {
    const server = await startHttp(workspace);
    const client = await httpClient(server);
    const agent_id = await spawned(client, 'hang');
    const waiting = client.call('wait_for_agents', { timeout: 40 });
    // It has come in: the server answers in order.
    await client.call('list');
    const began = performance.now();
    expect(await server.end(signal)).toBe(0);
    expect(performance.now() - began).toBeLessThan(5000);
    expect((await waiting).text).toContain(agent_id);
    await expect(ask(server, { body: initialize })).rejects.toThrow();
    expect(await statusOf(agent_id)).toBe('running');
  });
});

test('a client that does not read is no reason to stay', async () => {
  const server = await startHttp(workspace);
  await Promise.all(Array.from({ length: 5 }, () => httpClient(server)));
  const began = performance.now();
  expect(await server.end()).toBe(0);
  expect(performance.now() - began).toBeLessThan(5000);
});

test('agents end with it where the configuration says so', async () => {
  const flags = ['--on-disconnect', 'stop'];
  const server = await startHttp(workspace, { flags });
  const client = await httpClient(server);
  const agent_id = await spawned(client, 'hang');
  await client.leave();
  const other = await httpClient(server);
  const { data } = await other.call('result', { agent_id });
  expect(data.status).toBe('running');
  expect(await server.end()).toBe(0);
  expect(await statusOf(agent_id)).not.toBe('running');
});

test('the end of stdin ends nothing', async () => {
  const server = await startHttp(workspace);
  // It was closed from the start.
  expect(server.command.child.stdin?.writableEnded).toBe(true);
  const client = await httpClient(server);
  expect((await client.call('list')).isError).toBe(false);
  expect(server.command.child.exitCode).toBeNull();
  expect(await server.end()).toBe(0);
});

describe('the token', () => {
  /** Every file of the workspace and the home that holds a text. */
  function holding(text: string): string[] {
    return [workspace.path, workspace.home]
      .flatMap((root) =>
        readdirSync(root, { recursive: true }).map((name) =>
          join(root, String(name))
        )
      )
      .filter((path) => statSync(path).isFile())
      .filter((path) => readFileSync(path, 'utf8').includes(text));
  }

  async function work(server: StartedHttp): Promise<HttpClient> {
    const client = await httpClient(server);
    await client.call('start_council', { agent_name: 'ann', request: 'Who?' });
    await spawned(client, 'say hello');
    await client.call('wait_for_agents');
    return client;
  }

  test('is nowhere but in its file', async () => {
    const server = await startHttp(workspace);
    await work(server);
    await server.end();
    expect(holding(server.token)).toEqual([tokenFileOf(workspace)]);
    expect(server.command.stderr).not.toContain(server.token);
  });

  test('that is given is in no file, and not in what agents see', async () => {
    const env = { TROUPE_HTTP_TOKEN: 'given-by-hand-0123456789' };
    workspace.program('printer', 'console.log(JSON.stringify(process.env))');
    workspace.write(
      'printer.mjs',
      `export default {
        kind: 'cli', name: 'printer', description: 'Prints its environment.',
        command: 'printer',
        access: { read: 'enforced', write: 'enforced', full: 'enforced' },
        args: () => [],
        read: (reply, event) =>
          ({ ...reply, text: JSON.stringify(event), finished: true })
      };`
    );
    workspace.write('troupe.config.json', '{"plugins": ["./printer.mjs"]}');
    const flags = ['--engines', 'rehearsal,printer'];
    const server = await startHttp(workspace, { env, flags });
    const client = await work(server);
    await client.call('spawn_printer', { prompt: 'print' });
    const { text } = await client.call('wait_for_agents');
    expect(text).toContain('TROUPE_AGENT_ID');
    expect(text).not.toContain('TROUPE_HTTP_TOKEN');
    await server.end();
    expect(holding(server.token)).toEqual([]);
  });

  test('that an agent prints is kept out of the journal', async () => {
    const server = await startHttp(workspace);
    const client = await httpClient(server);
    await spawned(client, `say it is ${server.token}.`);
    await client.call('wait_for_agents');
    await server.end();
    const logs = join(workspace.path, 'logs');
    expect(
      holding(server.token).filter((path) => path.startsWith(logs))
    ).toEqual([]);
  });
});
