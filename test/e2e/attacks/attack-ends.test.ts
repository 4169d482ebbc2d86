import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { startCommand } from '../../kit/servers/command-line.ts';
import { startHttp } from '../../kit/servers/http-server.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

/** SPEC 66: whatever blocks, a server ends within that. */
const promisedMs = 5000;

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

/** A plugin that leaves a thread waiting for a FIFO, for ever. */
function blockThread(): void {
  execFileSync('mkfifo', [join(workspace.path, 'never')]);
  workspace.write(
    'blocker.mjs',
    `import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
writeFileSync(new URL('loaded', import.meta.url), '');
void open(new URL('never', import.meta.url));
export default {
  kind: 'cli',
  name: 'blocker',
  description: 'Waits.',
  command: '/bin/sh',
  args: () => ['-s'],
  access: { read: 'asked', write: 'asked', full: 'asked' }
};
`
  );
  const config = { plugins: ['./blocker.mjs'], engines: { rehearsal: true } };
  workspace.write('.trouperc.json', JSON.stringify(config));
}

/** A git that answers nothing, and that SIGTERM does not end. */
function hangGit(): void {
  workspace.program(
    'git',
    "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);"
  );
}

test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'stdin'] as const)(
  'attack: a thread that waits for a FIFO does not keep a server from ending within 5 s (%s)',
  async (how) => {
    blockThread();
    const server = await startServer(workspace);
    const { data } = await server.call('list');
    expect(data.running).toEqual([]);
    const began = performance.now();
    if (how === 'stdin') server.child.stdin?.end();
    else server.child.kill(how);
    await server.exited;
    expect(performance.now() - began).toBeLessThan(promisedMs);
  }
);

test('attack: a thread that waits for a FIFO does not keep a server over HTTP from ending within 5 s', async () => {
  blockThread();
  const server = await startHttp(workspace, {
    flags: ['--engines', 'rehearsal,blocker']
  });
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  const began = performance.now();
  await server.end('SIGTERM');
  expect(performance.now() - began).toBeLessThan(promisedMs);
  socket.destroy();
});

test('attack: a git that never answers does not keep a server from ending within 5 s', async () => {
  hangGit();
  const server = await startServer(workspace);
  const { data } = await server.call('spawn_shell', { prompt: 'echo ok' });
  expect(data.status).toBe('running');
  const began = performance.now();
  server.child.kill('SIGTERM');
  await server.exited;
  expect(performance.now() - began).toBeLessThan(promisedMs);
});

test('attack: a git that never answers starts an agent at most 5 s later', async () => {
  hangGit();
  const server = await startServer(workspace);
  const began = performance.now();
  const { data } = await server.call('spawn_shell', { prompt: 'echo ok' });
  const agent_ids = [data.agent_id];
  const waited = await server.call('wait_for_agents', { agent_ids });
  expect(waited.data.status).toBe('all_completed');
  expect(performance.now() - began).toBeLessThan(promisedMs + 1000);
  const result = await server.call('result', { agent_id: data.agent_id });
  expect(result.text).toContain('git did not finish within 4 s');
  await server.close();
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'attack: a thread that waits for a FIFO does not keep troupe run from ending within 5 s (%s)',
  async (signal) => {
    blockThread();
    const running = startCommand(workspace, [
      'run',
      'blocker',
      'echo started; sleep 60'
    ]);
    const spawns = join(workspace.record, 'spawns');
    await until('the agent has started', () =>
      execFileSync('sh', ['-c', `cat ${spawns}/*/stdout 2>/dev/null || true`])
        .toString()
        .includes('started')
    );
    const began = performance.now();
    running.child.kill(signal);
    await running.exited;
    expect(performance.now() - began).toBeLessThan(promisedMs);
  }
);

test.each([['log', '--follow'], ['wait'], ['list']])(
  'attack: a thread that waits for a FIFO does not keep troupe %s from ending within 5 s of SIGTERM',
  async (...args) => {
    blockThread();
    const running = startCommand(workspace, args);
    const loaded = join(workspace.path, 'loaded');
    await until('the plugin is loaded', () => existsSync(loaded));
    const began = performance.now();
    running.child.kill('SIGTERM');
    await running.exited;
    expect(performance.now() - began).toBeLessThan(promisedMs);
  }
);
