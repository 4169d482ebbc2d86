import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const megabyte = 1024 * 1024;
/** Memory is looked up in /proc. */
const testOnLinux = test.skipIf(process.platform !== 'linux');
let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  server = await startServer(workspace, { flags: ['--engines', 'rehearsal'] });
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  workspace.remove();
});

test('a message of more than 10 MB is refused, and the next one served', async () => {
  const prompt = 'x'.repeat(11 * megabyte);
  await expect(server.call('spawn_rehearsal', { prompt })).rejects.toThrow(
    '-32600: A message of more than 10 MB was not read.'
  );
  expect((await server.call('list')).data).toMatchObject({ running: [] });
  expect(server.stderr).toBe(
    'troupe: A message of more than 10 MB was not read.\n'
  );
});

testOnLinux('a line without end takes no memory (on linux)', async () => {
  const before = memoryOf(server.pid);
  const part = 'x'.repeat(megabyte);
  for (let sent = 0; sent < 200; sent += 1) await write(part);
  await write('\n');
  await server.request('ping');
  expect(memoryOf(server.pid) - before).toBeLessThan(60 * megabyte);
});

testOnLinux(
  'who reads no answers is not listened to for ever, and loses none (on linux)',
  async () => {
    const requests = 10_000;
    const { stdout } = server.child;
    stdout?.pause();
    const from = performance.now();
    const line = (id: number) =>
      `${JSON.stringify({ jsonrpc: '2.0', id: `r${id}`, method: 'tools/list' })}\n`;
    let sent = 0;
    // All its answers would be 160 MB.
    while (sent < requests && (await taken(line(sent)))) sent += 1;
    expect(memoryOf(server.pid)).toBeLessThan(200 * megabyte);
    stdout?.resume();
    for (; sent < requests; sent += 1) await write(line(sent));
    // The line that was not taken in time may be sent twice.
    const answered = () => new Set(server.notifications.map(({ id }) => id));
    await until('all answers', () => answered().size >= requests);
    expect(answered().size).toBe(requests);
    expect(server.stderr).toBe('');
    expect(performance.now() - from).toBeLessThan(60_000);
  }
);

function write(text: string): Promise<void> {
  return new Promise((resolve) =>
    server.child.stdin?.write(text, () => resolve())
  );
}

/** False when the server has taken nothing for a second. */
async function taken(text: string): Promise<boolean> {
  const late = new Promise<boolean>((resolve) =>
    setTimeout(resolve, 1000, false).unref()
  );
  return Promise.race([write(text).then(() => true), late]);
}

/** Bytes in memory. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}
