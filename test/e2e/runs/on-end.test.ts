import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { untrusted } from '../../kit/workspaces/cloned-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  servers = [];
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  workspace.remove();
});

const told = () => join(workspace.home, 'told');

/** The facts that the command has got so far, of each end. */
function ends(): Record<string, unknown>[] {
  const text = existsSync(told()) ? readFileSync(told(), 'utf8') : '';
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function configure(script: string, more: Record<string, unknown> = {}): void {
  const command = ['/bin/sh', '-c', script, 'tell', told()];
  const settings = {
    engines: { rehearsal: true },
    onEnd: { command, ...more }
  };
  workspace.write('troupe.config.json', JSON.stringify(settings));
}

async function serve(): Promise<McpClient> {
  const server = await startServer(workspace);
  servers.push(server);
  return server;
}

async function spawn(server: McpClient, prompt: string): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

test('the command runs once for each end, although several servers look on', async () => {
  configure('cat >>"$1"');
  const [first] = [await serve(), await serve(), await serve()];
  const prompts = ['say a', 'fail quota no more', 'say b', 'say c'];
  const ids: string[] = [];
  for (const prompt of prompts) ids.push(await spawn(first, prompt));
  const waited = await runCommand(workspace, ['wait', ...ids]);
  expect(waited.code).toBe(2);
  await until('all ends', () => ends().length >= ids.length);
  await Promise.all(servers.map((server) => server.close()));
  expect(
    ends()
      .map(({ agent_id }) => agent_id)
      .sort()
  ).toEqual(ids.sort());
  expect(ends().find(({ status }) => status === 'failed')).toMatchObject({
    engine: 'rehearsal',
    task: 'fail quota no more',
    error_code: 'provider_error',
    seconds: expect.any(Number),
    cost_usd: null,
    workspace: workspace.path
  });
});

test('when the server was killed, the process that records the end runs the command', async () => {
  configure('cat >>"$1"');
  const server = await serve();
  const id = await spawn(server, 'sleep 1\nsay done');
  server.child.kill('SIGKILL');
  await server.exited;
  await runCommand(workspace, ['wait', id]);
  await until('its end', () => ends().length > 0);
  await runCommand(workspace, ['list']);
  expect(ends().map(({ agent_id }) => agent_id)).toEqual([id]);
});

test('an end whose recorder was killed before the command is not told later', async () => {
  configure('cat >>"$1"');
  const server = await serve();
  const id = await spawn(server, 'say done');
  await until('its end', () => ends().length === 1);
  server.child.kill('SIGKILL');
  await server.exited;
  // As after a kill between the outcome and the command.
  const folder = join(workspace.record, 'spawns', id, 'on-end');
  rmSync(folder, { recursive: true });
  writeFileSync(join(workspace.record, 'open', id), '');
  writeFileSync(told(), '');
  await serve();
  await until(
    'its mark taken away',
    () => !existsSync(join(workspace.record, 'open', id))
  );
  expect(ends()).toEqual([]);
});

test('a command that does not end delays nothing, and ends after 10 s with its children', async () => {
  configure('sleep 300 & echo $! >"$1"; wait');
  const ran = await runCommand(workspace, ['run', 'rehearsal', 'say done']);
  expect(ran).toMatchObject({ code: 0 });
  // The command goes on without troupe.
  const pid = await until('its child', () =>
    existsSync(told()) ? Number(readFileSync(told(), 'utf8')) : undefined
  );
  expect(isGone(pid)).toBe(false);
  await until('its end', () => isGone(pid), 60_000);
});

test('a command that fails is reported once, and the run stays as it is', async () => {
  configure('echo "no such desktop" >&2; exit 3');
  const server = await serve();
  for (const prompt of ['say a', 'say b']) {
    const id = await spawn(server, prompt);
    const { data } = await server.call('wait_for_agents', { agent_ids: [id] });
    expect(data.results).toMatchObject([{ status: 'completed' }]);
    const exit = join(workspace.record, 'spawns', id, 'on-end', 'exit');
    await until('its exit', () =>
      existsSync(exit) && readFileSync(exit, 'utf8').startsWith('3')
        ? true
        : undefined
    );
  }
  await server.close();
  const words =
    /onEnd\.command: \/bin\/sh exited with code 3: no such desktop/g;
  expect(server.stderr.match(words)).toHaveLength(1);
});

test('a workspace that is not trusted runs no command, and says so', async () => {
  configure('cat >>"$1"', { bell: true });
  const { code, stderr } = await runCommand(
    workspace,
    ['run', 'rehearsal', 'say done'],
    { env: untrusted }
  );
  expect(code).toBe(0);
  expect(stderr).toContain('onEnd.command');
  const { stdout } = await runCommand(workspace, ['config', '--json'], {
    env: untrusted
  });
  expect(JSON.parse(stdout).left_out).toEqual(['onEnd.command']);
  expect(existsSync(told())).toBe(false);
});
