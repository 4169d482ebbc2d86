import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';
import type { TempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let moved: TempWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
  workspace.write(
    '.trouperc.json',
    JSON.stringify({ engines: { rehearsal: true } })
  );
  moved = { ...workspace, path: join(workspace.home, 'renamed') };
});

afterEach(() => workspace.remove());

const move = () => renameSync(workspace.path, moved.path);
const moveBack = () => renameSync(moved.path, workspace.path);

const adopt = () =>
  runCommand(moved, ['record', '--from', workspace.path, '--json']);
const cleanOrphans = () =>
  runCommand(moved, ['clean', '--orphans', '--yes', '--json']);

/** Starts an agent and ends its server. */
async function leaveAgentAtWork(): Promise<string> {
  const server = await startServer(workspace);
  const { data } = await server.call('spawn_rehearsal', {
    prompt: 'say begun\nsleep 600'
  });
  const id = String(data.agent_id);
  await until('a claim', () =>
    existsSync(join(workspace.record, 'spawns', id, 'claim')) ? true : undefined
  );
  await server.close();
  return id;
}

describe('the record of a workspace that was moved', () => {
  test('stays where it is while an agent works, whose client has left', async () => {
    const id = await leaveAgentAtWork();
    move();

    const refused = await adopt();
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stdout);
    expect(error.code).toBe('record_refused');
    expect(error.message).toContain(`agent ${id} is at work`);
    expect(error.hint).toContain('troupe cancel');
    const kept = await cleanOrphans();
    expect(JSON.parse(kept.stdout).orphans).toEqual([]);
    expect(kept.stderr).toContain(`stays: agent ${id} is at work`);
    expect(existsSync(join(workspace.record, 'spawns', id))).toBe(true);

    // What the hint says.
    moveBack();
    expect((await runCommand(workspace, ['cancel', id])).code).toBe(0);
    move();
    const taken = await adopt();
    expect(taken.code, taken.stderr).toBe(0);
    const result = await runCommand(moved, ['result', id, '--json']);
    expect(JSON.parse(result.stdout).status).toBe('canceled');
    moveBack();
  });

  test('keeps the worktrees of its agents', async () => {
    const isolated = async (prompt: string) => {
      const args = ['run', 'rehearsal', prompt, '--isolate', '--json'];
      const { stdout } = await runCommand(workspace, args);
      return String(JSON.parse(stdout).agent_id);
    };
    const id = await isolated('write made.txt one\nsay made');
    move();
    expect((await adopt()).code).toBe(0);

    const path = join(moved.path, '.agents', 'worktrees', id);
    const { stdout } = await runCommand(moved, ['result', id, '--json']);
    const { worktree } = JSON.parse(stdout);
    expect(worktree).toMatchObject({ path, branch: `troupe/${id}` });
    expect(worktree.removed).toBeUndefined();
    const clean = await runCommand(moved, ['clean', '--keep', '0', '--yes']);
    expect(clean.stderr).toContain(`its worktree may hold work (${path})`);

    const args = ['continue', id, 'write more.txt two\nsay more', '--json'];
    const more = await runCommand(moved, args);
    expect(more.code, more.stdout).toBe(0);
    const next = JSON.parse(more.stdout);
    expect(next.worktree).toMatchObject({ path });
    expect(next.files_changed).toMatchObject([
      { path: 'made.txt' },
      { path: 'more.txt' }
    ]);
    expect(gitIn(path, 'status', '--short')).toBe('?? made.txt\n?? more.txt\n');
    const applied = await runCommand(moved, ['apply', id]);
    expect(applied.code, applied.stderr).toBe(0);
    expect(existsSync(join(moved.path, 'made.txt'))).toBe(true);
    moveBack();
  });
});
