import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CommandResult,
  startCommand
} from '../../kit/servers/command-line.ts';
import {
  httpClient,
  startHttp,
  tokenFileOf,
  tokenOf
} from '../../kit/servers/http-server.ts';
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

/** A start that is refused: one line on stderr, and no word of a bug. */
async function refused(
  flags: string[],
  env: Record<string, string> = {}
): Promise<string> {
  const command = startCommand(workspace, ['mcp', ...flags], { env });
  return toldIn(await command.exited);
}

function prepareFolder(of: TempWorkspace): void {
  mkdirSync(dirname(tokenFileOf(of)), { recursive: true, mode: 0o700 });
}

function toldIn({ code, stdout, stderr }: CommandResult): string {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^troupe: [^\n]+\n$/);
  return stderr;
}

describe('an address', () => {
  test.each([
    'localhost',
    '70000',
    '-1',
    '::1:8377',
    'http://localhost:8377',
    '127.0.0.1:',
    ':8377',
    '8377/mcp'
  ])('such as "%s" is none', async (address) => {
    expect(await refused([`--http=${address}`])).toContain('is not an address');
  });

  test('that another process has is reported as in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) =>
      other.listen(0, '127.0.0.1', () => resolve())
    );
    const bound = other.address();
    const port = typeof bound === 'object' ? String(bound?.port) : '';
    const told = await refused(['--http', port]);
    expect(told).toContain(`Port ${port} of 127.0.0.1 is in use.`);
    await new Promise((resolve) => other.close(resolve));
  });

  test.each(['192.0.2.1', 'nowhere.invalid'])(
    'such as %s is not of this machine, whatever the port',
    async (host) => {
      const flags = ['--http', `${host}:0`, '--allow-host', 'agents.example'];
      const told = await refused(flags);
      expect(told).toContain(`${host} is not an address of this machine (E`);
      expect(told).not.toMatch(/port 0|Port/);
    }
  );

  test('that other machines can reach requires a Host name', async () => {
    expect(await refused(['--http', '0.0.0.0:0'])).toContain('--allow-host');
    const server = await startHttp(workspace, {
      address: '0.0.0.0:0',
      flags: ['--allow-host', 'agents.example']
    });
    expect(server.url).toBe(`http://agents.example:${server.port}/mcp`);
    const status = async (host: string) =>
      (await ask(server, { headers: { host }, body: initialize })).status;
    expect(await status('agents.example')).toBe(200);
    expect(await status('0.0.0.0')).toBe(403);
    expect(await server.end()).toBe(0);
  });

  test('of IPv6 is written in brackets', async () => {
    const server = await startHttp(workspace, { address: '[::1]:0' });
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+\/mcp$/);
    const client = await httpClient(server);
    expect((await client.call('list')).isError).toBe(false);
    await client.leave();
    expect(await server.end()).toBe(0);
  });
});

test('names and origins that are none are refused', async () => {
  for (const name of ['https://agents.example', 'a b', 'agents.example:80'])
    expect(await refused(['--http', '0', '--allow-host', name])).toContain(
      'is not a host name'
    );
  for (const origin of ['null', 'board.example', 'https://board.example/'])
    expect(await refused(['--http', '0', '--allow-origin', origin])).toContain(
      'is not an origin'
    );
  expect(await refused(['--allow-host', 'agents.example'])).toContain('--http');
});

test('where the directory says nothing, a workspace has to be named', async () => {
  const { path } = workspace;
  const command = startCommand(workspace, ['mcp', '--http', '0'], {
    env: { HOME: path }
  });
  expect(toldIn(await command.exited)).toContain('--workspace');
  expect(existsSync(join(path, '.agents'))).toBe(false);
});

test("a worker's tools are not served", async () => {
  const told = 'A worker is not served over HTTP';
  const flags = ['--http', '0', '--toolsets', 'worker'];
  expect(await refused(flags)).toContain(told);
  expect(await refused([...flags, '--agent-id', 'abc'])).toContain(told);
});

describe('the file of the token', () => {
  const start = ['--http', '0'];

  test('is made once, for its owner alone, and kept', async () => {
    const first = await startHttp(workspace);
    expect(first.token).toMatch(/^[\w-]{43}$/);
    expect(statSync(tokenFileOf(workspace)).mode & 0o777).toBe(0o600);
    await first.end();
    const second = await startHttp(workspace);
    expect(second.token).toBe(first.token);
    await second.end();
  });

  test('lies outside the workspace', async () => {
    await (await startHttp(workspace)).end();
    expect(tokenFileOf(workspace)).toContain(join(workspace.home, '.troupe'));
    expect(existsSync(tokenFileOf(workspace))).toBe(true);
    expect(existsSync(join(workspace.path, '.agents/http'))).toBe(false);
  });

  test('is refused when other users can read it', async () => {
    await (await startHttp(workspace)).end();
    const token = tokenOf(workspace);
    for (const mode of [0o644, 0o640, 0o604, 0o620]) {
      chmodSync(tokenFileOf(workspace), mode);
      const told = await refused(start);
      expect(told).toContain(`mode ${mode.toString(8)}`);
      expect(told).not.toContain(token);
    }
  });

  test('is refused when it is a link, also to nothing', async () => {
    const there = workspace.write('secret', 'a'.repeat(43));
    chmodSync(there, 0o600);
    prepareFolder(workspace);
    symlinkSync(there, tokenFileOf(workspace));
    expect(await refused(start)).toContain('is a symbolic link');
    const other = createTempWorkspace();
    prepareFolder(other);
    symlinkSync(join(other.path, 'nothing'), tokenFileOf(other));
    const command = startCommand(other, ['mcp', ...start]);
    expect(toldIn(await command.exited)).toContain('is a symbolic link');
    expect(existsSync(join(other.path, 'nothing'))).toBe(false);
    other.remove();
  });

  test('is not looked for behind a link', async () => {
    const other = createTempWorkspace();
    const folder = dirname(tokenFileOf(workspace));
    mkdirSync(dirname(folder), { recursive: true });
    symlinkSync(other.path, folder);
    expect(await refused(start)).toContain(`${folder} is a symbolic link`);
    expect(readdirSync(other.path)).toEqual([]);
    other.remove();
  });

  test('is refused when it holds no token', async () => {
    prepareFolder(workspace);
    for (const text of ['', 'short', 'two words of a long text']) {
      writeFileSync(tokenFileOf(workspace), text, { mode: 0o600 });
      expect(await refused(start)).toContain('holds no token');
    }
  });

  test('is not there when a token is given, which has to be one', async () => {
    const env = { TROUPE_HTTP_TOKEN: 'given-by-hand-0123456789' };
    const server = await startHttp(workspace, { env });
    expect(existsSync(tokenFileOf(workspace))).toBe(false);
    expect((await ask(server, { body: initialize })).status).toBe(200);
    await server.end();
    for (const TROUPE_HTTP_TOKEN of ['short', 'with a space in between'])
      expect(await refused(start, { TROUPE_HTTP_TOKEN })).toContain(
        'TROUPE_HTTP_TOKEN is not a token'
      );
  });
});

test('stderr says where it is and how a client gets there, without the token', async () => {
  const server = await startHttp(workspace);
  await server.end();
  const { stderr } = server.command;
  expect(stderr).toContain(server.url);
  expect(stderr).toContain(tokenFileOf(workspace));
  expect(stderr).not.toContain(server.token);
  const [entry = ''] = /\{"mcpServers".*$/m.exec(stderr) ?? [];
  expect(JSON.parse(entry)).toEqual({
    mcpServers: {
      agents: {
        type: 'http',
        url: server.url,
        headers: { Authorization: 'Bearer ${TROUPE_HTTP_TOKEN}' }
      }
    }
  });
});

test.runIf(process.platform === 'linux')(
  'it has its threads before anybody depends on it',
  async () => {
    const threadsOf = (pid = 0) => readdirSync(`/proc/${pid}/task`).length;
    const bare = spawn(process.execPath, [
      '-e',
      "console.log('x');setInterval(String, 1e5)"
    ]);
    await once(bare.stdout, 'data');
    const server = await startHttp(workspace);
    const own = threadsOf(server.command.child.pid) - threadsOf(bare.pid);
    bare.kill();
    expect(await server.end()).toBe(0);
    // As many as do the work with files. Later there may be none to be had.
    expect(own).toBeGreaterThanOrEqual(4);
  }
);
