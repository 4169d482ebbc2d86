import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../../test/kit/workspaces/git-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import { RunStore } from '../runs/run-store.ts';
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

test('a worktree stays while another agent or a worker works in it', async () => {
  const store = new RunStore(workspace.record);
  const { top, head } = await repositories.originOf(workspace.path, signal);
  const worktree = {
    path: join(workspace.home, '0badcafe'),
    branch: 'troupe/0badcafe',
    base: head,
    origin: top
  };
  await repositories.addWorktree(worktree, signal);
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
