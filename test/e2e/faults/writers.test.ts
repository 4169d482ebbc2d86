import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let one: McpClient;
let two: McpClient;

beforeEach(async () => {
  workspace = createGitWorkspace();
  [one, two] = await Promise.all([
    startServer(workspace),
    startServer(workspace)
  ]);
});

afterEach(async () => {
  for (const server of [one, two]) {
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
    await server.close();
  }
  workspace.remove();
});

const isolate = 'worktree';

function spawn(
  server: McpClient,
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<ToolResult> {
  return server.call('spawn_shell', { prompt, ...more });
}

/** An agent whose engine keeps it from writing. */
function spawnReader(server: McpClient): Promise<ToolResult> {
  const input = { prompt: 'say ok', access: 'read' };
  return server.call('spawn_rehearsal', input);
}

async function resultOf({ data }: ToolResult) {
  const agent_ids = [String(data.agent_id)];
  const input = { agent_ids, timeout: 60 };
  const waited = await two.call('wait_for_agents', input);
  expect(waited.data.status).toBe('all_completed');
  const [result] = waited.data.results as Record<string, unknown>[];
  return result ?? {};
}

describe('an agent that may write where another one does', () => {
  test('is started with a warning that names the other, of any server', async () => {
    const other = await spawn(one, 'sleep 60');
    workspace.write('draft.txt', 'not committed\n');
    workspace.write('sub/x.txt', 'x\n');
    for (const more of [{}, { access: 'write' }, { cwd: 'sub' }]) {
      const { data } = await spawn(two, 'echo ok', more);
      expect(data.message).toContain(
        `Agent ${other.data.agent_id} (Shell) may be writing to the same files`
      );
      expect(data.message).toContain('isolate: "worktree"');
      await resultOf({ data, isError: false, text: '' });
    }
    await one.call('cancel_agent', { agent_id: other.data.agent_id });
  });

  test('is not warned where nothing can be lost', async () => {
    const other = await spawn(one, 'sleep 60');
    const clean = await spawn(two, 'sleep 60', { isolate });
    workspace.write('draft.txt', 'not committed\n');
    const reader = await spawnReader(two);
    const isolated = await spawn(two, 'echo ok', { isolate });
    await one.call('cancel_agent', { agent_id: other.data.agent_id });
    const alone = await spawn(two, 'echo ok');
    for (const { data } of [other, clean, reader, isolated, alone])
      expect(data.message).not.toContain('same files');
    await one.call('cancel_agent', { agent_id: clean.data.agent_id });
  });
});

test('agents that shared the files are named in the note of each', async () => {
  const gate = join(workspace.home, 'gate');
  const other = await spawn(
    one,
    `echo x >a.txt; until [ -e '${gate}' ]; do sleep 0.05; done; echo ok`
  );
  await until('it is at work', () => existsSync(join(workspace.path, 'a.txt')));
  const short = await spawn(two, 'echo x >b.txt; echo ok');
  const { files_changed_note: note } = await resultOf(short);
  const reader = await spawnReader(two);
  expect(note).toMatch(/^Others that worked in the same files meanwhile: /);
  expect(note).toContain(other.data.agent_id);
  expect(await resultOf(reader)).not.toHaveProperty('files_changed_note');
  workspace.write('../home/gate', '');
  const whole = await resultOf(other);
  expect(whole.files_changed).toHaveLength(2);
  expect(whole.files_changed_note).toContain(short.data.agent_id);
  expect(whole.files_changed_note).not.toContain(reader.data.agent_id);
});

describe('isolated agents', () => {
  test('of two servers, eight at once, each change their own files', async () => {
    const spawned = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const script = `echo ${index} >own-${index}.txt; echo ${index} >>readme.txt; echo ok`;
        return spawn(index % 2 === 0 ? one : two, script, { isolate });
      })
    );
    const results = await Promise.all(spawned.map(resultOf));
    for (const [index, result] of results.entries()) {
      expect(result).toMatchObject({
        status: 'completed',
        files_changed: [
          { path: `own-${index}.txt`, added: 1, removed: 0 },
          { path: 'readme.txt', added: 1, removed: 0 }
        ]
      });
      const patch = readFileSync(String(result.diff), 'utf8');
      expect(patch).toContain(`+++ b/own-${index}.txt`);
      expect(patch.match(/^diff --git/gm)).toHaveLength(2);
      const { path, branch } = result.worktree as Record<string, string>;
      const current = gitIn(path ?? '', 'branch', '--show-current').trim();
      expect(current).toBe(branch);
    }
    expect(workspace.git('fsck', '--no-progress')).toBe('');
    expect(workspace.git('branch').trim().split('\n')).toHaveLength(9);
  });

  test('are settled by another server when theirs was killed', async () => {
    const gate = join(workspace.home, 'gate');
    const wait = `until [ -e '${gate}' ]; do sleep 0.05; done`;
    const clean = await spawn(
      one,
      `echo >$TROUPE_AGENT_DIR/on; ${wait}; echo ok`,
      { isolate }
    );
    const dirty = await spawn(one, `echo x >x.txt; ${wait}; echo ok`, {
      isolate
    });
    const { worktrees } = workspace.paths.shared;
    const draft = join(worktrees, String(dirty.data.agent_id), 'x.txt');
    const sign = join(
      ...[workspace.record, 'spawns', String(clean.data.agent_id), 'on']
    );
    await until(
      'both are at work',
      () => existsSync(sign) && existsSync(draft)
    );
    one.child.kill('SIGKILL');
    await one.exited;
    workspace.write('../home/gate', '');
    expect((await resultOf(clean)).worktree).toHaveProperty('removed', true);
    const result = await resultOf(dirty);
    expect(result.worktree).not.toHaveProperty('removed');
    expect(result.files_changed_total).toBe(1);
    expect(existsSync(draft)).toBe(true);
    one = await startServer(workspace);
  });

  test('are started from a shell by troupe run --isolate', async () => {
    const flags = ['run', 'shell', 'echo x >x.txt; echo ok', '--isolate'];
    const { code, stdout, stderr } = await runCommand(workspace, [
      ...flags,
      '--json'
    ]);
    expect(code, stderr).toBe(0);
    const result = JSON.parse(stdout);
    expect(result.files_changed).toMatchObject([{ path: 'x.txt' }]);
    expect(stderr).toContain(`in ${result.worktree.path}`);
  });
});
