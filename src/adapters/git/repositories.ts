import { rename, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import type { Comparison, Repositories } from '../../core/changes/ports.ts';
import { lazily } from '../../core/lazily.ts';
import {
  readIfThere,
  temporaryName,
  writeNew
} from '../../core/state/atomic-file.ts';
import { headOf } from '../../core/state/text-file.ts';
import { changedFiles, writePatch } from './compare-trees.ts';
import { placeOf, topOf } from './place.ts';
import { git } from './run-git.ts';
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

const rememberedSchema = lazily(() =>
  z.object({
    top: z.string().refine(isAbsolute),
    tree: z.string().regex(/^[0-9a-f]{40,64}$/),
    /** Settings and patterns of the project that were not used. */
    omitted: z.array(z.string()).exactOptional()
  })
);

/** What is left of a first look; there once that look was whole. */
type Remembered = z.output<ReturnType<typeof rememberedSchema>>;

const memory = 'troupe.json';

const remember: Repositories['remember'] = async (view, signal) => {
  const { directory, shadow: path, roots, base } = view;
  const shadow = await createShadow(directory, path, signal);
  if (!shadow) return false;
  await unflagIndex(shadow, signal);
  const { omitted = [] } = shadow;
  const remembered: Remembered = {
    top: shadow.top,
    ...(omitted.length > 0 ? { omitted } : {}),
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
  const remembered = rememberedSchema().parse(JSON.parse(text));
  const { top, tree: before, omitted = [] } = remembered;
  const index = temporaryName('index');
  const shadow = await withOwnIndex(shadowAt(path, top), index);
  try {
    const tree = await takeTree(shadow, roots, signal);
    const unseen = unseenIn(tree, top, omitted);
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
function unseenIn(
  { nested, unreadable }: Tree,
  top: string,
  omitted: string[]
): string | undefined {
  const parts: string[] = [];
  if (nested.length > 0)
    parts.push(
      `Repositories of their own were not looked into: ${few(nested)}.`
    );
  if (hasSubmodules(top))
    parts.push('Of submodules only their commits were compared.');
  if (unreadable.length > 0)
    parts.push(`Files that cannot be read were left out: ${few(unreadable)}.`);
  if (omitted.length > 0) parts.push(`Not used: ${few(omitted)}.`);
  return parts.length > 0 ? parts.join(' ') : undefined;
}

function few(paths: string[]): string {
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return `${paths.slice(0, 3).join(', ')}${more}`;
}

function hasSubmodules(top: string): boolean {
  return headOf(join(top, '.gitmodules'), 65_536).trim() !== '';
}

const hasUncommitted: Repositories['hasUncommitted'] = async (view, signal) => {
  const place = await placeOf(view.directory, signal, { withSettings: true });
  if (!place) return false;
  const args = ['status', '--porcelain', '-z', '--no-renames'];
  const flags = ['--untracked-files=normal', '--ignore-submodules=dirty'];
  const call = { cwd: view.directory, signal };
  const status = await git([...args, ...flags], call);
  const ours = isOurs(place.top, view.roots);
  return status
    .toString('latin1')
    .split('\0')
    .map((entry) => entry.slice(3))
    .some((path) => path !== '' && !ours(path));
};
