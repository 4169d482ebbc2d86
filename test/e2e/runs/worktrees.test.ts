import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import {
  author,
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createGitWorkspace();
  server = await startServer(workspace);
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

function spawn(
  prompt: string,
  more: Record<string, unknown> = { isolate: 'worktree' }
): Promise<ToolResult> {
  return server.call('spawn_shell', { prompt, ...more });
}

async function resultOf({ data }: ToolResult) {
  const agent_ids = [String(data.agent_id)];
  const waited = await server.call('wait_for_agents', {
    agent_ids,
    timeout: 60
  });
  expect(waited.data.status).toBe('all_completed');
  const [result] = waited.data.results as Record<string, unknown>[];
  return result ?? {};
}

async function run(prompt: string, more?: Record<string, unknown>) {
  const result = await resultOf(await spawn(prompt, more));
  const worktree = result.worktree as Record<string, unknown>;
  return { result, worktree, path: String(worktree?.path) };
}

function branches(): string[] {
  const format = '--format=%(refname:short)';
  return workspace.git('branch', format).trim().split('\n');
}

describe('an isolated agent', () => {
  test('works in a worktree and on a branch of its own, and its answer says so', async () => {
    workspace.write('readme.txt', 'not committed\n');
    const head = workspace.git('rev-parse', 'HEAD').trim();
    const spawned = await spawn('cat readme.txt; echo hi >notes.txt');
    const id = String(spawned.data.agent_id);
    const path = join(workspace.path, '.agents/worktrees', id);
    for (const words of [
      `in ${path}, timeout`,
      `on branch troupe/${id}, made from commit ${head.slice(0, 10)}`,
      'uncommitted work of the main tree is not in it.'
    ])
      expect(spawned.data.message).toContain(words);
    const result = await resultOf(spawned);
    expect(result).toMatchObject({
      status: 'completed',
      result: 'one\ntwo\nthree',
      files_changed: [{ path: 'notes.txt', added: 1, removed: 0 }],
      worktree: { path, branch: `troupe/${id}`, base: head }
    });
    expect(result.worktree).not.toHaveProperty('removed');
    expect(existsSync(join(workspace.path, 'notes.txt'))).toBe(false);
    workspace.git('apply', String(result.diff));
    expect(existsSync(join(workspace.path, 'notes.txt'))).toBe(true);
  });

  test('starts below its worktree where it would have started', async () => {
    workspace.write('packages/a/x.txt', 'x\n');
    workspace.commit('package');
    workspace.write('new/x.txt', 'not committed\n');
    for (const cwd of ['packages/a', 'new']) {
      const { result, path } = await run('pwd; echo hi >notes.txt', {
        isolate: 'worktree',
        cwd
      });
      expect(result.result).toBe(join(path, cwd));
      expect(result.files_changed).toEqual([
        { path: `${cwd}/notes.txt`, added: 1, removed: 0 }
      ]);
    }
  });

  test('leaves everything there, with what it committed in the diff', async () => {
    const { result, worktree, path } = await run(
      `echo a >a.txt; git add a.txt; git ${author} commit -qm a; echo b >b.txt; echo ok`
    );
    expect(result.files_changed).toEqual([
      { path: 'a.txt', added: 1, removed: 0 },
      { path: 'b.txt', added: 1, removed: 0 }
    ]);
    expect(readdirSync(path)).toContain('b.txt');
    workspace.git('merge', '--quiet', String(worktree.branch));
    expect(existsSync(join(workspace.path, 'a.txt'))).toBe(true);
  });

  test('leaves nothing when it changed nothing', async () => {
    const { result, worktree, path } = await run('cat readme.txt');
    expect(result.files_changed).toEqual([]);
    expect(worktree.removed).toBe(true);
    expect(existsSync(path)).toBe(false);
    expect(branches()).toEqual(['main']);
  });

  test('leaves nothing where it began in a folder that git does not know', async () => {
    workspace.write('new/deep/x.txt', 'not committed\n');
    const cwd = 'new/deep';
    const { worktree } = await run('pwd', { isolate: 'worktree', cwd });
    expect(worktree.removed).toBe(true);
  });

  test('keeps a worktree that holds anything, be it ignored or committed empty', async () => {
    workspace.write('.gitignore', 'build/\n');
    workspace.commit('ignore');
    for (const script of [
      'mkdir build; echo x >build/out; echo ok',
      `git ${author} commit -q --allow-empty -m x; echo ok`,
      'git update-index --assume-unchanged readme.txt; echo x >readme.txt; echo ok'
    ]) {
      const { path, worktree } = await run(script);
      expect(existsSync(path), script).toBe(true);
      expect(branches()).toContain(worktree.branch);
    }
  });

  test('keeps a worktree that holds what git does not show', async () => {
    workspace.write('sub/x.txt', 'x\n');
    const head = workspace.git('rev-parse', 'HEAD').trim();
    const link = `160000,${head},lib`;
    workspace.git('update-index', '--add', '--cacheinfo', link);
    workspace.git('add', 'sub');
    const commit = ['commit', '--quiet', '--message', 'a gitlink'];
    workspace.git(...author.split(' '), ...commit);
    for (const [script, file] of [
      ['echo hours >lib/new.c', 'lib/new.c'],
      ['cd sub; git init -q; echo ok', 'sub/.git/HEAD'],
      ['mkdir sub/.git; echo x >sub/.git/notes', 'sub/.git/notes']
    ] as const) {
      const { result, path, worktree } = await run(script);
      expect(existsSync(join(path, file)), script).toBe(true);
      expect(worktree).not.toHaveProperty('removed');
      expect(result.files_changed_note).toBe(
        'Only the commits of submodules were compared.'
      );
    }
    for (const folder of ['empty', 'sub/empty', 'lib/empty']) {
      const { path, worktree } = await run(`mkdir ${folder}; echo ok`);
      expect(existsSync(join(path, folder)), folder).toBe(true);
      expect(worktree).not.toHaveProperty('removed');
    }
    const { worktree } = await run('echo ok');
    expect(worktree.removed).toBe(true);
  });

  test('keeps its worktree when it is canceled or fails', async () => {
    const failed = await run('echo x >x.txt; exit 3');
    expect(failed.result).toMatchObject({
      status: 'failed',
      files_changed_total: 1
    });
    expect(existsSync(join(failed.path, 'x.txt'))).toBe(true);
    const spawned = await spawn('echo x >x.txt; sleep 60', {
      isolate: 'worktree',
      timeout: 1
    });
    const late = await resultOf(spawned);
    expect(late).toMatchObject({ status: 'timeout', files_changed_total: 1 });
  });

  test('is not seen by git status, also where .agents was there before', async () => {
    workspace.write('.agents/skill.md', 'x\n');
    workspace.commit('skill');
    await run('echo x >x.txt; echo ok');
    const status = workspace.git('status', '--porcelain');
    expect(
      status.split('\n').filter((line) => line.includes('.agents'))
    ).toEqual([]);
  });

  test('goes on in its worktree, which is made again when it is gone', async () => {
    const ask = async (agent_id: unknown, prompt: string) =>
      resultOf(await server.call('continue_agent', { agent_id, prompt }));
    const spawned = await server.call('spawn_rehearsal', {
      prompt: 'write a.txt hi',
      isolate: 'worktree'
    });
    const one = await resultOf(spawned);
    const two = await ask(one.agent_id, 'write b.txt hi');
    expect(two.worktree).toEqual(one.worktree);
    const change = { added: 1, removed: 0 };
    expect(two.files_changed).toEqual([
      { path: 'a.txt', ...change, shared: true },
      { path: 'b.txt', ...change }
    ]);
    expect(two.files_changed_note).toBe(
      `Others that worked in this worktree before: ${one.agent_id}. What they may have changed is marked as shared.`
    );
    const { path, branch } = one.worktree as Record<string, string>;
    workspace.git('worktree', 'remove', '--force', path ?? '');
    workspace.git('branch', '-D', branch ?? '');
    const three = await ask(two.agent_id, 'write c.txt hi');
    expect(three.worktree).toEqual(one.worktree);
    expect(three.files_changed).toMatchObject([{ path: 'c.txt' }]);
  });
});

test('a repository below the workspace has its paths in the answer', async () => {
  rmSync(join(workspace.path, '.git'), { recursive: true });
  const repository = join(workspace.path, 'x/repo');
  workspace.write('x/repo/a.txt', 'a\n');
  gitIn(repository, 'init', '--quiet');
  gitIn(repository, 'add', '--all');
  gitIn(repository, ...author.split(' '), 'commit', '--quiet', '-m', 'a');
  for (const isolate of ['worktree', undefined]) {
    const script = 'echo b >b.txt; echo ok';
    const { result } = await run(script, { isolate, cwd: 'x/repo' });
    expect(result.files_changed).toEqual([
      { path: 'x/repo/b.txt', added: 1, removed: 0 }
    ]);
  }
});

test('a workspace may have a blank at the end of its name, and a backslash', async () => {
  await server.close();
  const path = `${workspace.path}\\ `;
  renameSync(workspace.path, path);
  server = await startServer({ ...workspace, path });
  const { result, worktree } = await run('echo x >x.txt; echo ok');
  expect(result.files_changed).toEqual([
    { path: 'x.txt', added: 1, removed: 0 }
  ]);
  expect(worktree.path).toContain(`${path}/.agents/worktrees/`);
});

describe('isolate is refused, and nothing is started,', () => {
  test('in a repository with a branch named troupe, packed or not', async () => {
    workspace.git('branch', 'troupe');
    for (const also of [[], ['pack-refs', '--all']]) {
      if (also.length > 0) workspace.git(...also);
      const { isError, data } = await spawn('echo ok');
      expect(isError).toBe(true);
      expect(data.error_code).toBe('no_repository');
      expect(data.error).toContain('has a branch "troupe"');
      expect(data.hint).toContain('git branch -m troupe');
    }
    workspace.git('branch', '-m', 'troupe', 'other/troupe');
    workspace.git('branch', 'troupes');
    expect((await spawn('echo ok')).isError).toBe(false);
  });

  test('without a repository, and without a commit', async () => {
    rmSync(join(workspace.path, '.git'), { recursive: true });
    for (const words of ['not a git repository', 'it has no commit yet']) {
      const { isError, data } = await spawn('echo ok');
      expect(isError).toBe(true);
      expect(data.error_code).toBe('no_repository');
      expect(data.error).toContain(words);
      workspace.git('init', '--quiet');
    }
    expect((await server.call('list')).data).toMatchObject({
      running: [],
      queued: [],
      completed_ids: []
    });
  });
});

test('a worktree that cannot be made is a failed agent, in the words of git', async () => {
  workspace.write('.git/refs/heads/troupe', 'in the way of troupe/<id>\n');
  const result = await resultOf(await spawn('echo ok'));
  expect(result).toMatchObject({
    status: 'failed',
    error_code: 'spawn_failed'
  });
  expect(result.error).toContain('there is no worktree for it: ');
  expect(result.error).toContain('refs/heads/troupe');
});
