import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  justBefore,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../../test/kit/workspaces/git-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import type { RunRecord, Worktree } from '../runs/run.ts';
import { RunStore } from '../runs/run-store.ts';
import { FileLock } from '../state/locks/file-lock.ts';
import { keepChanges } from './change-file.ts';
import {
  createBelow,
  enterWorktree,
  removeUnused,
  restoreWorktree,
  reuseWorktree
} from './own-worktree.ts';
import { TimeLimit } from './time-limit.ts';
import { WorktreeRemoval } from './worktree-removal.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const signal = new AbortController().signal;
const processes = createProcesses('dist');
const repositories = createRepositories();
const first = '0badcafe';

let workspace: GitWorkspace;
let store: RunStore;
let worktree: Worktree;
let record: RunRecord;

beforeEach(async () => {
  watchFiles();
  workspace = createGitWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  const { top, head } = await repositories.originOf(workspace.path, signal);
  worktree = {
    path: join(workspace.paths.shared.worktrees, first),
    branch: `troupe/${first}`,
    base: head,
    origin: top
  };
  await repositories.addWorktree(worktree, signal);
  record = recordWith({ agent_id: first, worktree });
  store.create(record, 'x', 'x');
});

const dependencies = () => ({
  ...{ repositories, store, processes },
  workers: () => []
});
const remove = (limit = signal) =>
  removeUnused(record, worktree, dependencies(), limit);

/** An agent that reuses the worktree, or works in a directory of it. */
function later(changes: Partial<RunRecord> = {}): RunRecord {
  return recordWith({ agent_id: '0badbeef', worktree, ...changes });
}

const locks = () => join(workspace.record, 'worktrees');
const leftInLocks = () =>
  readdirSync(locks()).filter((name) => name !== '.gitignore');

describe('a worktree', () => {
  test('stays, when an agent that reuses it comes just before the removal', async () => {
    justBefore('link', `${first}.lock`, () => {
      store.create(later(), 'x', 'x');
    });
    await remove();
    expect(existsSync(worktree.path)).toBe(true);
    expect(leftInLocks()).toEqual([]);
  });

  test('stays, when an agent works in a directory of it', async () => {
    const { worktree: _own, ...rest } = later({ cwd: worktree.path });
    store.create(rest, 'x', 'x');
    await remove();
    expect(existsSync(worktree.path)).toBe(true);
  });

  test('is removed, when only other worktrees are in use', async () => {
    const path = `${worktree.path}-2`;
    store.create(later({ worktree: { ...worktree, path } }), 'x', 'x');
    await remove();
    expect(existsSync(worktree.path)).toBe(false);
    expect(leftInLocks()).toEqual([]);
  });

  test('stays, when a killed process had set it aside and it has changes', async () => {
    const file = join(worktree.path, 'new.txt');
    writeFileSync(file, 'x');
    renameSync(worktree.path, `${worktree.path}.aside`);
    await remove();
    expect(readFileSync(file, 'utf8')).toBe('x');
    expect(existsSync(`${worktree.path}.aside`)).toBe(false);
  });

  test('leaves no lock, when its removal fails', async () => {
    const problem = new Error('too late');
    await expect(remove(AbortSignal.abort(problem))).rejects.toBe(problem);
    expect(existsSync(worktree.path)).toBe(true);
    expect(leftInLocks()).toEqual([]);
  });
});

describe('while another process removes a worktree,', () => {
  const aside = () => `${worktree.path}.aside`;

  /** Acts under the lock of the worktree; the worktree is set aside. */
  async function duringRemoval(act: () => Promise<unknown>): Promise<void> {
    const lock = join(locks(), `${first}.lock`);
    const other = new FileLock(lock, `${lock}.servers`, processes);
    onTestFinished(() => other.close());
    await other.holdWhile(async () => {
      renameSync(worktree.path, aside());
      await act();
    });
  }

  /** Resolves when another process has an identity file for the lock. */
  const isWaiting = () =>
    until('a process that waits', () => {
      const servers = readdirSync(join(locks(), `${first}.lock.servers`));
      return servers.filter((name) => /^\d+\.\w+$/.test(name)).length > 1;
    });

  test.each([
    ['an agent that reuses it', () => reuseWorktree(later(), dependencies())],
    [
      'an agent that starts in a directory of it',
      async () => {
        const cwd = join(worktree.path, 'folder');
        await enterWorktree(workspace.path, cwd, dependencies());
      }
    ],
    [
      'a process that restores it',
      () => restoreWorktree(worktree, dependencies())
    ],
    ['another removal', () => remove(AbortSignal.abort(new Error('late')))]
  ])('%s waits', async (_title, act) => {
    let acting: Promise<void> | undefined;
    await duringRemoval(async () => {
      acting = act().catch(() => undefined);
      await isWaiting();
      expect(existsSync(worktree.path)).toBe(false);
    });
    await acting;
    expect(existsSync(worktree.path)).toBe(true);
    expect(existsSync(aside())).toBe(false);
  });

  test('the agent that it was made for does not wait', async () => {
    await duringRemoval(() => reuseWorktree(record, dependencies()));
    expect(existsSync(worktree.path)).toBe(false);
  });
});

test('a worktree that was set aside when its process was killed is removed whole', async () => {
  renameSync(worktree.path, `${worktree.path}.aside`);
  const removal = new WorktreeRemoval(dependencies(), new TimeLimit());
  expect(await removal.remove(record)).toBe(true);
  expect(readdirSync(dirname(worktree.path))).toEqual([]);
  const { origin, branch } = worktree;
  expect(gitIn(origin, 'branch', '--list', branch)).toBe('');
  expect(gitIn(origin, 'worktree', 'list')).not.toContain(first);
});

describe('the worktree of an agent that ended without changes', () => {
  beforeEach(() => {
    const directory = store.directoryOf(first);
    const { pid, start } = processes.self;
    writeFileSync(join(directory, 'claim'), `${pid} ${start}\n`);
    writeFileSync(join(directory, 'exit'), '0\n');
    keepChanges(directory, { v: 1, total: 0, files: [], patch: null });
  });
  const leave = (isFirst: boolean) =>
    new WorktreeRemoval(dependencies(), new TimeLimit()).leave(record, isFirst);

  test('is removed by the process that recorded the end', async () => {
    expect(await leave(true)).toBe(true);
    expect(existsSync(worktree.path)).toBe(false);
  });

  test('stays for any other process, though no agent works there', async () => {
    expect(await leave(false)).toBe(true);
    expect(existsSync(worktree.path)).toBe(true);
  });
});

test('a directory is created below a worktree, and not where a link leads out of it', () => {
  const { path } = worktree;
  createBelow(path, join(path, 'one/two'));
  createBelow(path, join(path, 'one/two'));
  expect(readdirSync(join(path, 'one'))).toEqual(['two']);
  const outside = join(workspace.home, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, join(path, 'link'));
  for (const name of ['link', 'link/three'])
    expect(() => createBelow(path, join(path, name))).toThrow(
      expect.objectContaining({ code: 'cwd_outside' })
    );
  expect(readdirSync(outside)).toEqual([]);
});

test('only a directory in the worktree of an agent is in one', () => {
  const { path } = worktree;
  const folders = [workspace.path, join(path, '..'), join(path, '../notes')];
  for (const cwd of [...folders, `${path}.aside`])
    expect(enterWorktree(workspace.path, cwd, dependencies())).toBeUndefined();
});
