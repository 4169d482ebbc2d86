import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProcessStage } from '../../../test/kit/agents/process-stage.ts';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../../test/kit/workspaces/git-workspace.ts';
import { isStillThere } from '../../adapters/child-process/process-table.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import type { Worktree } from '../runs/run.ts';
import { RunStore } from '../runs/run-store.ts';
import { ChangeTracker } from './change-tracker.ts';
import type { WorkerAtWork } from './concurrent-writers.ts';
import { removeUnused } from './own-worktree.ts';

const signal = new AbortController().signal;
const processes = createProcesses('dist');
const repositories = createRepositories();

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

/** A worktree that was created for the agent 0badcafe. */
async function addedWorktree(): Promise<Worktree> {
  const { top, head } = await repositories.originOf(workspace.path, signal);
  const worktree = {
    path: join(workspace.home, '0badcafe'),
    branch: 'troupe/0badcafe',
    base: head,
    origin: top
  };
  await repositories.addWorktree(worktree, signal);
  return worktree;
}

test('a worktree stays while another agent or a worker works in it', async () => {
  const store = new RunStore(workspace.record);
  const worktree = await addedWorktree();
  const first = recordWith({ worktree });
  const second = recordWith({ agent_id: '0badbeef', worktree });
  for (const record of [first, second]) store.create(record, 'x', 'x');
  const workers: WorkerAtWork[] = [];
  const dependencies = {
    repositories,
    store,
    processes,
    workers: () => workers
  };
  const remove = () => removeUnused(first, worktree, dependencies, signal);
  await remove();
  expect(existsSync(worktree.path)).toBe(true);
  store.end(second.agent_id, outcomeWith());
  const { agent_id, access, enforcement, created_at } = second;
  const worker = {
    ...{ agent_id, access, enforcement, created_at },
    cwd: worktree.path,
    isOver: false
  };
  workers.push(worker);
  await remove();
  expect(existsSync(worktree.path)).toBe(true);
  worker.isOver = true;
  await remove();
  expect(existsSync(worktree.path)).toBe(false);
});

describe('a worktree whose server was killed while git created it', () => {
  /** Settles it for an agent; whether the git that creates it still runs. */
  async function isCreatedAfterSettling(agent_id: string) {
    const store = new RunStore(workspace.record);
    const worktree = await addedWorktree();
    const { path, origin } = worktree;
    const lock = join(origin, '.git/worktrees', basename(path), 'locked');
    writeFileSync(lock, 'initializing');
    const record = recordWith({ agent_id, worktree, owner: processes.self });
    store.create(record, 'x', 'x');
    const git = createProcessStage().start('exec sleep 100', {
      TROUPE_AGENT_DIR: store.directoryOf(agent_id)
    });
    await new ChangeTracker({
      ...{ repositories, store, processes, workspace: workspace.path },
      editsOf: async () => undefined,
      workers: () => []
    }).clear(record);
    return {
      isRunning: isStillThere(git),
      isThere: existsSync(path),
      branch: gitIn(workspace.path, 'branch', '--list', worktree.branch)
    };
  }

  test('is removed, and its git is ended before that', async () => {
    expect(await isCreatedAfterSettling('0badcafe')).toEqual({
      isRunning: false,
      isThere: false,
      branch: ''
    });
  });

  test('stays if it is that of an earlier agent', async () => {
    expect(await isCreatedAfterSettling('0badbeef')).toMatchObject({
      isRunning: true,
      isThere: true
    });
  });
});
