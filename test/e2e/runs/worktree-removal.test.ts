import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  taskEnd
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
/** Runs a git that pauses. */
let one: McpClient;
let two: McpClient;
let servers: McpClient[];

beforeEach(() => {
  workspace = createGitWorkspace();
  servers = [];
});

afterEach(async () => {
  // A git that still waits goes on, and ends.
  writeFileSync(stage('go'), '');
  for (const server of servers) {
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
    await server.close();
  }
  workspace.remove();
});

function stage(name: string): string {
  return join(workspace.home, name);
}

/** `then` runs once, after the look at a worktree's files in that folder. */
async function start(
  folder: string,
  then: string,
  flags: string[] = []
): Promise<void> {
  const git = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
  const script = `#!/bin/sh
${git} "$@"
code=$?
case " $* " in *' --ignored '*)
  case "$GIT_WORK_TREE" in *${folder})
    if mkdir '${stage('once')}' 2>/dev/null; then ${then}; fi
  esac
esac
exit $code
`;
  chmodSync(workspace.write('../home/slow-bin/git', script), 0o755);
  const PATH = [stage('slow-bin'), workspace.bin, process.env.PATH].join(':');
  one = await startServer(workspace, { env: { PATH }, flags });
  servers.push(one);
}

/** A second server, which would judge the worktree itself if it were earlier. */
async function startSecond(): Promise<void> {
  two = await startServer(workspace);
  servers.push(two);
}

/** Announces itself, and continues on request. */
function pause(): string {
  return `>'${stage('there')}'; until [ -e '${stage('go')}' ]; do sleep 0.02; done`;
}

async function spawn() {
  const { data } = await one.call('spawn_rehearsal', {
    prompt: 'say hi',
    isolate: 'worktree'
  });
  const id = String(data.agent_id);
  const path = join(workspace.paths.shared.worktrees, id);
  return { id, path };
}

async function resultOf(server: McpClient, { data }: ToolResult) {
  const agent_ids = [String(data.agent_id)];
  const input = { agent_ids, timeout: 60 };
  const waited = await server.call('wait_for_agents', input);
  expect(waited.data.status).toBe('all_completed');
  const [result] = waited.data.results as Record<string, unknown>[];
  return result ?? {};
}

function goOn(id: string): Promise<ToolResult> {
  const prompt = 'sleep 1\nwrite notes.txt hi';
  return two.call('continue_agent', { agent_id: id, prompt });
}

/** Names of what lies in a folder; none when it is not there. */
function namesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function expectWhole(path: string): void {
  expect(existsSync(join(path, 'notes.txt'))).toBe(true);
  expect(gitIn(path, 'status', '--porcelain')).toBe('?? notes.txt\n');
  expect(workspace.git('worktree', 'list')).toContain(path);
  expect(readdirSync(join(path, '..')).filter(isOther)).toEqual([]);
}

/** Entries next to the worktrees, which bear the names of their agents. */
function isOther(name: string): boolean {
  return !/^([0-9a-f]{8}|\.gitignore)$/.test(name);
}

test('an agent that goes on while its worktree is removed waits for it', async () => {
  await start('', pause());
  const { id, path } = await spawn();
  await until('the worktree is judged', () => existsSync(stage('there')));
  await startSecond();
  const next = await goOn(id);
  const cards = join(workspace.record, 'worktrees', `${id}.lock.servers`);
  const claim = join(
    ...[workspace.record, 'spawns', String(next.data.agent_id), 'claim']
  );
  await until(
    'it waits, or has begun',
    () => namesIn(cards).length > 1 || existsSync(claim)
  );
  writeFileSync(stage('go'), '');
  const result = await resultOf(two, next);
  expect(result).toMatchObject({
    status: 'completed',
    files_changed: [{ path: 'notes.txt' }]
  });
  expectWhole(path);
  expect(gitIn(path, 'branch', '--show-current')).toBe(`troupe/${id}\n`);
});

test('a worktree that is written to while it is judged stays', async () => {
  await start('', 'echo late >"$GIT_WORK_TREE/late.txt"');
  const { id, path } = await spawn();
  const data = { agent_id: id };
  const ended = await resultOf(one, { data, isError: false, text: '' });
  expect(ended.worktree).not.toHaveProperty('removed');
  expect(existsSync(join(path, 'late.txt'))).toBe(true);
  expect(gitIn(path, 'status', '--porcelain')).toBe('?? late.txt\n');
  expect(readdirSync(join(path, '..')).filter(isOther)).toEqual([]);
});

test('a server that stops amid a removal takes nothing with it', async () => {
  await start('.aside', pause());
  const { id, path } = await spawn();
  await until('the worktree is aside', () => existsSync(stage('there')));
  await startSecond();
  one.child.kill('SIGSTOP');
  const refused = await resultOf(two, await goOn(id));
  expect(refused).toMatchObject({
    status: 'failed',
    error_code: 'spawn_failed'
  });
  expect(refused.error).toContain(`there is no worktree for it: `);
  expect(refused.error).toContain(String(one.pid));
  one.child.kill('SIGKILL');
  await one.exited;
  await until('it is put back', () => existsSync(path));
  expect(gitIn(path, 'status', '--porcelain')).toBe('');
  const result = await resultOf(two, await goOn(id));
  expect(result.status).toBe('completed');
  expectWhole(path);
});

test('a worktree stays while an agent that was started in it works there', async () => {
  await start('', 'true');
  const host = await one.call('spawn_rehearsal', {
    prompt: 'hang',
    isolate: 'worktree'
  });
  const id = String(host.data.agent_id);
  const path = join(workspace.paths.shared.worktrees, id);
  await until('the worktree', () => existsSync(join(path, '.git')));
  await startSecond();
  const guest = await two.call('spawn_rehearsal', {
    prompt: 'sleep 2\nwrite notes.txt hi',
    cwd: path
  });
  await one.call('cancel_agent', { agent_id: id });
  expect(await resultOf(one, host)).toMatchObject({ status: 'canceled' });
  expect(existsSync(path)).toBe(true);
  expect(await resultOf(two, guest)).toMatchObject({
    status: 'completed',
    files_changed: [{ path: expect.stringContaining('notes.txt') }]
  });
  expectWhole(path);
});

test('a worktree stays while a worker is at work in it', async () => {
  const engines = { rehearsal: true };
  const orchestrator = { backend: 'process' };
  const config = JSON.stringify({ engines, orchestrator });
  workspace.write('.trouperc.json', config);
  await start('', 'true', ['--toolsets', 'orchestrator,spawn,runs']);
  const host = await one.call('spawn_rehearsal', {
    prompt: 'hang',
    isolate: 'worktree'
  });
  const id = String(host.data.agent_id);
  const path = join(workspace.paths.shared.worktrees, id);
  await until('the worktree', () => existsSync(join(path, 'readme.txt')));
  const worker = await createdWorker(one, { engine: 'rehearsal', cwd: path });
  await one.call('cancel_agent', { agent_id: id });
  expect(await resultOf(one, host)).toMatchObject({ status: 'canceled' });
  expect(existsSync(path)).toBe(true);
  const { agent_id } = worker;
  await enqueued(one, agent_id, 'a', 'write notes.txt hi');
  await taskEnd(one, agent_id, 'a');
  expectWhole(path);
  await answerOf(one, 'agent_delete', { agent_id });
});
