import { existsSync, readFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Comparison, Repositories } from '../../core/changes/ports.ts';
import {
  readIfThere,
  temporaryName,
  writeNew
} from '../../core/state/atomic-file.ts';
import { changedFiles, writePatch } from './compare-trees.ts';
import { absentAs, git } from './run-git.ts';
import { createShadow, shadowAt, shadowGit, withOwnIndex } from './shadow.ts';
import { isOurs, type Tree, takeTree } from './take-tree.ts';
import { unflagIndex } from './unflag-index.ts';
import { addWorktree, originOf, removeUntouched } from './worktrees.ts';

/** Repositories behind the core's port, over the `git` program. */
export function createRepositories(): Repositories {
  return {
    topOf,
    remember,
    compare,
    hasUncommitted,
    originOf,
    addWorktree,
    removeUntouched
  };
}

function topOf(directory: string): string | undefined {
  if (existsSync(join(directory, '.git'))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : topOf(above);
}

/** What is left of a first look; there once that look was whole. */
interface Remembered {
  top: string;
  tree: string;
}

const memory = 'troupe.json';

const remember: Repositories['remember'] = async (view, signal) => {
  const { directory, shadow: path, roots, base } = view;
  const shadow = await createShadow(directory, path, signal);
  if (!shadow) return false;
  await unflagIndex(shadow, signal);
  const remembered: Remembered = {
    top: shadow.top,
    tree: base
      ? await treeOf(shadow, base, signal)
      : (await takeTree(shadow, roots, signal)).id
  };
  const draft = temporaryName(join(path, memory));
  writeNew(draft, JSON.stringify(remembered));
  await rename(draft, join(path, memory));
  return true;
};

async function treeOf(
  shadow: Parameters<typeof shadowGit>[0],
  commit: string,
  signal: AbortSignal
): Promise<string> {
  const args = ['rev-parse', '--verify', `${commit}^{tree}`];
  return (await shadowGit(shadow, args, signal)).toString().trim();
}

const compare: Repositories['compare'] = async (view, patch, limit, signal) => {
  const { shadow: path, roots } = view;
  const text = readIfThere(join(path, memory));
  if (text === undefined) return undefined;
  const { top, tree: before }: Remembered = JSON.parse(text);
  const index = temporaryName('index');
  const shadow = await withOwnIndex(shadowAt(path, top), index);
  try {
    const tree = await takeTree(shadow, roots, signal);
    const unseen = unseenIn(tree, top);
    const rest = unseen === undefined ? {} : { unseen };
    if (tree.id === before) return { files: [], total: 0, ...rest };
    const pair = [shadow, before, tree.id] as const;
    const files = await changedFiles(...pair, roots[0] ?? top, signal);
    await writePatch(...pair, patch, signal);
    const comparison: Comparison = {
      files: files.slice(0, limit),
      total: files.length,
      ...rest
    };
    return comparison;
  } finally {
    await rm(join(path, index), { force: true });
  }
};

/** Places where something may have changed that no comparison shows. */
function unseenIn({ nested, unreadable }: Tree, top: string) {
  const parts: string[] = [];
  if (nested.length > 0)
    parts.push(
      `Repositories of their own were not looked into: ${few(nested)}.`
    );
  if (hasSubmodules(top))
    parts.push('Of submodules only their commits were compared.');
  if (unreadable.length > 0)
    parts.push(`Files that cannot be read were left out: ${few(unreadable)}.`);
  return parts.length > 0 ? parts.join(' ') : undefined;
}

function few(paths: string[]): string {
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return `${paths.slice(0, 3).join(', ')}${more}`;
}

function hasSubmodules(top: string): boolean {
  try {
    return readFileSync(join(top, '.gitmodules'), 'utf8').trim() !== '';
  } catch {
    return false;
  }
}

const hasUncommitted: Repositories['hasUncommitted'] = async (view, signal) => {
  const args = ['status', '--porcelain', '-z', '--no-renames'];
  const flags = ['--untracked-files=normal', '--ignore-submodules=dirty'];
  const call = { cwd: view.directory, signal };
  const [status, top] = await Promise.all([
    git([...args, ...flags], call).catch(absentAs(Buffer.alloc(0))),
    git(['rev-parse', '--show-toplevel'], call).catch(absentAs(''))
  ]);
  const ours = isOurs(top.toString().trimEnd(), view.roots);
  return status
    .toString('latin1')
    .split('\0')
    .map((entry) => entry.slice(3))
    .some((path) => path !== '' && !ours(path));
};
