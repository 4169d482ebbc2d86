import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { survivorsOf, zooOf } from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

/** Makes `spawn_odd`, whose program is this, and starts a server. */
async function start(program: string): Promise<void> {
  workspace.program('odd', program);
  workspace.write(
    'odd.mjs',
    `export default { kind: 'cli', name: 'odd', description: 'For tests.',
      command: 'odd', args: () => [] };`
  );
  workspace.write('.trouperc.json', '{"plugins": ["./odd.mjs"]}');
  server = await startServer(workspace);
}

async function spawned(prompt = 'x'): Promise<string> {
  const { data, text } = await server.call('spawn_odd', { prompt });
  expect(data.status, text).toBe('running');
  return String(data.agent_id);
}

async function ended(agent_id: string) {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  return (await server.call('result', { agent_id })).data;
}

describe('a program', () => {
  test('that closes its stdin unread does no harm, however long the prompt', async () => {
    await start(
      `require('node:fs').closeSync(0);
       setTimeout(() => console.log('unread'), 300);`
    );
    const id = await spawned('한글 '.repeat(700_000));
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'unread'
    });
  });

  test('whose child keeps its stdout open is over when it has ended', async () => {
    const file = join(workspace.home, 'child');
    await start(
      `const { spawn } = require('node:child_process');
       const child = spawn('sleep', ['200'],
         { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
       require('node:fs').writeFileSync(${JSON.stringify(file)},
         'child ' + child.pid);
       child.unref();
       console.log('over');`
    );
    const id = await spawned();
    const began = performance.now();
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'over'
    });
    expect(performance.now() - began).toBeLessThan(3000);
    const zoo = await zooOf(file);
    await until('its end', () => survivorsOf(zoo).length === 0);
  });

  test('whose grandchild has left session and parent is canceled whole', async () => {
    const file = join(workspace.home, 'zoo');
    await start(
      `const { spawn } = require('node:child_process');
       const twice = '(setsid sh -c \\'echo "daemon $$" >>"$1.new"; '
         + 'mv "$1.new" "$1"; exec sleep 200\\' sh "$1" &)';
       spawn('sh', ['-c', twice, 'sh', ${JSON.stringify(file)}],
         { detached: true, stdio: 'ignore' });
       setInterval(() => undefined, 1e6);`
    );
    const id = await spawned();
    const zoo = await zooOf(file);
    const { data } = await server.call('cancel_agent', { agent_id: id });
    expect(data.status).toBe('canceled');
    expect(survivorsOf(zoo)).toEqual([]);
  });

  test('that writes one byte at a time says every character', async () => {
    const words = '\\u001b[31m빨강\\u001b[0m 😀 \\u001b]0;title\\u0007é';
    await start(
      `const { writeSync } = require('node:fs');
       const bytes = Buffer.from('${words}\\n'.repeat(20));
       for (const byte of bytes) writeSync(1, Buffer.of(byte));`
    );
    const { status, result } = await ended(await spawned());
    expect(status).toBe('completed');
    const said = String(result);
    expect(said).not.toContain('\uFFFD');
    expect(said.split('\n').length).toBe(20);
    for (const line of said.split('\n'))
      expect(line).toMatch(/빨강.* 😀 .*é$/u);
  });

  test('that writes 50 MB without a line break is shown by its two ends', async () => {
    await start(
      `const { writeSync } = require('node:fs');
       writeSync(1, 'first ');
       const block = Buffer.alloc(1 << 20, 'x');
       for (let n = 0; n < 50; n += 1)
         for (let at = 0; at < block.length; )
           at += writeSync(1, block, at);
       writeSync(1, ' last');`
    );
    const before = memoryOf(server);
    const id = await spawned();
    const data = await ended(id);
    expect(data).toMatchObject({ status: 'completed', truncated: true });
    expect(String(data.result)).toMatch(/^first x/);
    expect(String(data.result)).toMatch(/x last$/);
    const { size } = statSync(String(data.full_output));
    expect(size).toBe(50 * 2 ** 20 + 11);
    expect(memoryOf(server) - before).toBeLessThan(200);
  });

  test('that writes 100 MB of lines fills no memory of the server', async () => {
    await start(
      `const { writeSync } = require('node:fs');
       const block = Buffer.from(('x'.repeat(1023) + '\\n').repeat(1024));
       for (let n = 0; n < 100; n += 1)
         for (let at = 0; at < block.length; )
           at += writeSync(1, block, at);`
    );
    const before = memoryOf(server);
    const data = await ended(await spawned());
    expect(data).toMatchObject({ status: 'completed', truncated: true });
    expect(statSync(String(data.full_output)).size).toBe(100 * 2 ** 20);
    expect(memoryOf(server) - before).toBeLessThan(200);
  });

  test('whose prompt looks like a flag, and is longer than an argument may be, gets it whole', async () => {
    await start(
      `const text = require('node:fs').readFileSync(0, 'utf8');
       console.log(process.argv.length, text.length, text.slice(0, 9));`
    );
    const id = await spawned(`--version${' -rf'.repeat(50_000)}`);
    expect(await ended(id)).toMatchObject({ result: '2 200009 --version' });
  });
});

describe('a client', () => {
  test('that does not read its answers costs no memory without end', async () => {
    await start('console.log("x".repeat(20000));');
    const id = await spawned();
    await ended(id);
    const { stdout } = server.child;
    stdout?.pause();
    const before = memoryOf(server);
    const answers = Array.from({ length: 1500 }, () =>
      server.call('result', { agent_id: id })
    );
    await until('the server to have taken all it takes', async () => {
      const seen = memoryOf(server);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return memoryOf(server) - seen < 1;
    });
    const grown = memoryOf(server) - before;
    process.stderr.write(`unread answers: ${grown} MB more\n`);
    stdout?.resume();
    for (const { data } of await Promise.all(answers))
      expect(data.status).toBe('completed');
    expect(grown).toBeLessThan(300);
  });

  test('that sends thousands of requests at once has each answered', async () => {
    await start('console.log("x");');
    const began = performance.now();
    const pings = Array.from({ length: 5000 }, () => server.request('ping'));
    const lists = Array.from({ length: 200 }, () => server.call('list'));
    await Promise.all(pings);
    for (const { isError } of await Promise.all(lists))
      expect(isError).toBe(false);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test('that ends in the middle of a message leaves no trace of it', async () => {
    await start('console.log("x");');
    const message = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 99, method: 'tools/call' },
      params: { name: 'spawn_odd', arguments: { prompt: 'half' } }
    });
    server.child.stdin?.write(message.slice(0, -20));
    expect(await server.close()).toEqual({ code: 0, signal: null });
    expect(server.notifications).toEqual([]);
    server = await startServer(workspace);
    const { data } = await server.call('list');
    expect(data).toMatchObject({ running: [], queued: [] });
    expect(JSON.stringify(data)).not.toContain('odd_half');
    writeFileSync(join(workspace.home, 'seen'), '');
  });
});

/** MB in memory now. */
function memoryOf({ pid }: McpClient): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024);
}
