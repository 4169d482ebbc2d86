import { existsSync, mkdirSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { HostError, messageOf } from '../errors.ts';
import { isInside } from '../paths/troupe-home.ts';
import { resolveDirectory } from '../runs/admission/containment.ts';
import type { Processes } from '../runs/ports.ts';
import { isAgentId, type RunRecord, type Worktree } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { headOf } from '../state/files/text-file.ts';
import { whileLocked } from '../state/locks/file-lock.ts';
import type { Repositories } from './ports.ts';

const originMs = 4000;

/**
 * Returns an agent's record with its own worktree, if that is requested. Its
 * `cwd` gets the same relative path in the worktree as in the repository. The
 * worktree itself is created when the agent starts.
 * @param requested `worktree` is an existing one, which the agent reuses
 * @throws HostError `no_repository` if there is no commit to start from, or if
 *   a branch `troupe` is in the way; `invalid_input` for an API engine
 */
export async function isolated(
  record: RunRecord,
  requested: {
    isolate?: 'worktree' | undefined;
    worktree?: Worktree | undefined;
  },
  {
    repositories,
    settings
  }: { repositories: Repositories; settings: { workspace: string } }
): Promise<RunRecord> {
  const { isolate, worktree } = requested;
  if (worktree) return { ...record, worktree };
  if (!isolate) return record;
  if (record.kind !== 'cli')
    throw new HostError(
      'invalid_input',
      `${record.label} works on no files, so there is nothing to isolate.`,
      'Leave isolate out.'
    );
  const { agent_id: id, cwd } = record;
  const signal = AbortSignal.timeout(originMs);
  const { top, head, hasBlockingBranch } = await repositories
    .originOf(cwd, signal)
    .catch((error: unknown) => {
      throw new HostError(
        'no_repository',
        `No worktree can be made from ${cwd}: ${messageOf(error)}.`,
        'Leave isolate out, or make it a git repository with a commit (git init, git add, git commit).'
      );
    });
  const branch = `troupe/${id}`;
  if (hasBlockingBranch)
    throw new HostError(
      'no_repository',
      `No worktree can be made from ${cwd}: its repository has a branch "troupe", so git cannot create the branch "${branch}".`,
      'Rename that branch (git branch -m troupe <new name>), or leave isolate out.'
    );
  const path = join(worktreesIn(settings.workspace), id);
  return {
    ...record,
    cwd: join(path, relative(top, cwd)),
    worktree: { path, branch, base: head, origin: top }
  };
}

/**
 * Creates a directory below `root`, because git keeps no empty directories.
 * @throws HostError `cwd_outside` if a link leads out of `root`
 */
export function createBelow(root: string, path: string): void {
  if (existsSync(path)) {
    resolveDirectory(root, path);
    return;
  }
  createBelow(root, dirname(path));
  mkdirSync(path);
}

interface WorktreeDependencies {
  repositories: Repositories;
  store: RunStore;
  processes: Processes;
}

export interface RemovalDependencies extends WorktreeDependencies {
  workers: () => (Pick<RunRecord, 'cwd'> & { isOver: boolean })[];
}

/**
 * Called before an agent reuses the worktree of an earlier agent: waits for a
 * removal in progress. A later removal finds this agent's record and stops.
 * @throws HostError `state_locked` if the removal takes too long
 */
export async function reuseWorktree(
  { agent_id: id, worktree }: RunRecord,
  dependencies: WorktreeDependencies
): Promise<void> {
  if (!worktree || basename(worktree.path) === id) return;
  await restoreWorktree(worktree, dependencies);
}

/**
 * Called before an agent or a worker without a worktree starts, after its
 * record is written: if its directory lies in the worktree of another agent,
 * waits for a removal in progress. A later removal finds the record and stops.
 * Returns undefined for any other directory.
 * @throws HostError `state_locked` if the removal takes too long
 */
export function enterWorktree(
  workspace: string,
  cwd: string,
  dependencies: WorktreeDependencies
): Promise<void> | undefined {
  const worktrees = worktreesIn(workspace);
  const [name = ''] = relative(worktrees, cwd).split(sep);
  if (!isAgentId(name)) return undefined;
  const worktree = dependencies.store.recordOf(name)?.worktree;
  return worktree && restoreWorktree(worktree, dependencies);
}

function worktreesIn(workspace: string): string {
  return join(workspace, '.agents', 'worktrees');
}

/** Restores a worktree that a killed server had set aside for removal. */
export function restoreWorktree(
  worktree: Worktree,
  dependencies: WorktreeDependencies
): Promise<void> {
  return withLock(worktree, dependencies, () =>
    dependencies.repositories.putBackWorktree(worktree)
  );
}

/**
 * Removes an agent's worktree if it has no changes and no other agent or worker
 * needs it.
 */
export function removeUnused(
  { agent_id: id, cwd }: RunRecord,
  worktree: Worktree,
  dependencies: RemovalDependencies,
  signal: AbortSignal
): Promise<void> {
  const { repositories, store, workers } = dependencies;
  const hasWorker = () =>
    workers().some((worker) => !worker.isOver && worksIn(worker, worktree));
  const isNeededBy = (otherId: string) => {
    const other = otherId === id ? undefined : store.recordOf(otherId);
    return other && worksIn(other, worktree) && !store.hasOutcome(otherId);
  };
  return withLock(worktree, dependencies, async () => {
    await repositories.putBackWorktree(worktree);
    if (!store.openIds().some(isNeededBy) && !hasWorker())
      await repositories.removeUntouched(worktree, cwd, signal);
  });
}

/**
 * Called for an agent that never started because its server was killed: ends a
 * git that still creates its worktree, because git would later remove what is
 * put in that place, and removes what git has left incomplete. Never rejects.
 */
export async function settleCreation(
  { agent_id: id, worktree, owner }: RunRecord,
  { repositories, processes, store }: WorktreeDependencies
): Promise<void> {
  // Another agent may have worked in a worktree that is reused.
  if (!worktree || basename(worktree.path) !== id) return;
  const orphan = { directory: store.directoryOf(id), place: owner.place };
  await processes.stop(orphan).catch(() => undefined);
  await repositories.settleCreation(worktree).catch(() => undefined);
}

/** Enough for the longest path on Linux. */
export const mostLinkBytes = 5000;

/**
 * Whether a worktree is in its place. Its folder alone proves nothing, because
 * an agent that goes on creates it again: then it has no `.git` file. `moved`
 * if its repository is not in its place either, or git knows another place.
 */
export function placeOf({
  path,
  origin
}: Worktree): 'there' | 'moved' | 'deleted' {
  const link = join(path, '.git');
  if (existsSync(link)) return 'there';
  const repository = join(origin, '.git');
  if (!existsSync(repository)) return 'moved';
  const entry = join(repository, 'worktrees', basename(path), 'gitdir');
  const place = existsSync(entry) ? headOf(entry, mostLinkBytes).trim() : link;
  return place !== link && existsSync(place) ? 'moved' : 'deleted';
}

/** Whether a worktree is the agent's own, or contains its directory. */
export function worksIn(
  { cwd, worktree }: Pick<RunRecord, 'cwd' | 'worktree'>,
  { path }: Worktree
): boolean {
  return worktree?.path === path || isInside(path, cwd);
}

/** Runs work under the lock of a worktree. */
function withLock(
  { path }: Pick<Worktree, 'path'>,
  { store, processes }: WorktreeDependencies,
  work: () => Promise<void>
): Promise<void> {
  const lock = join(store.root, 'worktrees', `${basename(path)}.lock`);
  return whileLocked(lock, processes, work);
}
