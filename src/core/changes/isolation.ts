import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { HostError, messageOf } from '../errors.ts';
import { resolveDirectory } from '../runs/containment.ts';
import type { RunRecord } from '../runs/run.ts';
import type { Origin, Repositories, Worktree } from './ports.ts';

export interface IsolationDependencies {
  repositories: Repositories;
  settings: { workspace: string };
}

interface Asked {
  isolate?: 'worktree' | undefined;
  /** One that is there already. */
  worktree?: Worktree | undefined;
}

const askMs = 4000;

/**
 * A record whose agent works in a worktree of its own when that is asked for:
 * below the worktree it is where it would have been below the project. The
 * worktree itself is made when the agent starts.
 * @throws HostError `no_repository` when there is no commit to begin from
 */
export async function isolated(
  record: RunRecord,
  { isolate, worktree }: Asked,
  { repositories, settings }: IsolationDependencies
): Promise<RunRecord> {
  if (worktree) return { ...record, worktree };
  if (!isolate) return record;
  if (record.kind !== 'cli')
    throw new HostError(
      'invalid_input',
      `${record.label} works on no files, so there is nothing to isolate.`,
      'Leave isolate out.'
    );
  const { top, head } = await originOf(record.cwd, repositories);
  const { workspace } = settings;
  const { agent_id: id } = record;
  const path = join(workspace, '.agents', 'worktrees', id);
  return {
    ...record,
    cwd: join(path, relative(top, record.cwd)),
    worktree: { path, branch: `troupe/${id}`, base: head, origin: top }
  };
}

/**
 * Makes a directory below another: git keeps no empty ones.
 * @throws HostError `cwd_outside` when a link leads out of it
 */
export function makeBelow(root: string, path: string): void {
  if (existsSync(path)) {
    resolveDirectory(root, path);
    return;
  }
  makeBelow(root, dirname(path));
  mkdirSync(path);
}

async function originOf(
  directory: string,
  repositories: Repositories
): Promise<Origin> {
  try {
    const signal = AbortSignal.timeout(askMs);
    return await repositories.originOf(directory, signal);
  } catch (error) {
    const words = messageOf(error);
    throw new HostError(
      'no_repository',
      `No worktree can be made from ${directory}: ${words}.`,
      'Leave isolate out, or make it a git repository with a commit (git init, git add, git commit).'
    );
  }
}
