import { open, rename, rm } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { z } from 'zod';
import type { FileChange, Repositories } from '../../core/changes/ports.ts';
import { lazy } from '../../core/lazy.ts';
import {
  readIfExists,
  temporaryName,
  writeNew
} from '../../core/state/files/atomic-file.ts';
import { putBackWorktree, removeUntouched } from './remove-worktree.ts';
import { locateRepository, topOf } from './repository-location.ts';
import { git, lineOf } from './run-git.ts';
import {
  createShadow,
  type Shadow,
  shadowAt,
  shadowGit,
  withOwnIndex
} from './shadow.ts';
import {
  addedWithForce,
  isOurs,
  readable,
  type Tree,
  takeTree,
  unflagIndex
} from './take-tree.ts';
import { addWorktree, originOf, settleCreation } from './worktrees.ts';

/** Implements the core's port with the `git` program. */
export function createRepositories(): Repositories {
  return {
    topOf,
    remember,
    compare,
    hasUncommitted,
    originOf,
    addWorktree,
    settleCreation,
    removeUntouched,
    putBackWorktree
  };
}

const rememberedSchema = lazy(() =>
  z.object({
    top: z.string().refine(isAbsolute),
    tree: z.string().regex(/^[0-9a-f]{40,64}$/),
    /** Settings and patterns of the project that were not used. */
    omitted: z.array(z.string()).exactOptional(),
    /** Whether the index has submodules, whose commits alone are compared. */
    hasLinks: z.boolean().exactOptional()
  })
);

/** The snapshot taken before an agent starts, written once it is complete. */
type Remembered = z.output<ReturnType<typeof rememberedSchema>>;

const snapshotName = 'troupe.json';

const remember: Repositories['remember'] = async (view, signal) => {
  const { directory, shadow: path, base, owned } = view;
  const shadow = await createShadow(directory, path, signal);
  if (!shadow) return false;
  const hasLinks = await unflagIndex(shadow, signal);
  const { omitted = [] } = shadow;
  const remembered: Remembered = {
    top: shadow.top,
    hasLinks,
    ...(omitted.length > 0 ? { omitted } : {}),
    tree: base
      ? await treeOf(shadow, base, signal)
      : (await takeTree(shadow, owned, signal)).id
  };
  const draft = temporaryName(join(path, snapshotName));
  writeNew(draft, JSON.stringify(remembered));
  await rename(draft, join(path, snapshotName));
  return true;
};

async function treeOf(
  shadow: Shadow,
  commit: string,
  signal: AbortSignal
): Promise<string> {
  const args = ['rev-parse', '--verify', `${commit}^{tree}`];
  return lineOf(await shadowGit(shadow, args, signal));
}

const compare: Repositories['compare'] = async (view, patch, signal) => {
  const { shadow: path, owned, seenFrom } = view;
  const text = readIfExists(join(path, snapshotName));
  if (text === undefined) return undefined;
  const remembered = rememberedSchema().parse(JSON.parse(text));
  const { top, tree: before } = remembered;
  const index = temporaryName('index');
  const shadow = await withOwnIndex(shadowAt(path, top), index);
  try {
    const forced = await addedWithForce(shadow, signal);
    const tree = await takeTree(shadow, owned, signal, forced);
    const unseen = unseenIn(tree, remembered);
    const rest = unseen === undefined ? {} : { unseen };
    if (tree.id === before) return { files: [], ...rest };
    const diff = (args: string[], outputTo?: number) =>
      diffTrees(shadow, [before, tree.id], args, signal, outputTo);
    const displayed = (name: string) =>
      relative(seenFrom, join(view.standsFor ?? top, readable(name)))
        .split(sep)
        .join('/');
    const files = changesIn(await diff(['-z', '--numstat']), displayed);
    await writePatch(patch, diff);
    return { files, ...rest };
  } finally {
    await rm(join(path, index), { force: true });
  }
};

/** The flags override the user's settings and start no external program. */
function diffTrees(
  shadow: Shadow,
  trees: [before: string, after: string],
  args: string[],
  signal: AbortSignal,
  outputTo?: number
): Promise<Buffer> {
  const common = ['diff-tree', '-r', '-M', '-l400'];
  const plain = ['--no-ext-diff', '--no-textconv', '--no-color'];
  return shadowGit(shadow, [...common, ...plain, ...args, ...trees], signal, {
    ...(outputTo === undefined ? {} : { outputTo })
  });
}

/** Parses `--numstat -z`: two counts and a path, which may contain tabs. */
function changesIn(
  output: Buffer,
  displayed: (path: string) => string
): FileChange[] {
  const fields = output.toString('latin1').split('\0');
  const files: FileChange[] = [];
  for (let at = 0; at < fields.length; at += 1) {
    const [added, removed, ...rest] = (fields[at] ?? '').split('\t');
    if (rest.length === 0) continue;
    const path = rest.join('\t');
    const counts = { added: countOf(added), removed: countOf(removed) };
    if (path !== '') files.push({ path: displayed(path), ...counts });
    else {
      // An empty path marks a renamed file; its old and new names follow.
      const renamed_from = displayed(fields[at + 1] ?? '');
      const renamed = displayed(fields[at + 2] ?? '');
      files.push({ path: renamed, ...counts, renamed_from });
      at += 2;
    }
  }
  return files;
}

/** Null for a binary file. */
function countOf(text: string | undefined): number | null {
  return text === '-' ? null : Number(text);
}

/** Writes a new file that `git apply` accepts. */
async function writePatch(
  path: string,
  diff: (args: string[], outputTo: number) => Promise<unknown>
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  const names = ['--src-prefix=a/', '--dst-prefix=b/'];
  try {
    await diff(['-p', '--binary', '--full-index', '-U3', ...names], file.fd);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Describes where changes may have gone unnoticed; undefined for nowhere. */
function unseenIn(
  { nested, unreadable }: Tree,
  { hasLinks, omitted = [] }: Remembered
): string | undefined {
  const parts: string[] = [];
  if (nested.length > 0)
    parts.push(`Nested repositories were not compared: ${few(nested)}.`);
  if (hasLinks) parts.push('Only the commits of submodules were compared.');
  if (unreadable.length > 0)
    parts.push(`Files that cannot be read were left out: ${few(unreadable)}.`);
  if (omitted.length > 0) parts.push(`Not used: ${few(omitted)}.`);
  return parts.length > 0 ? parts.join(' ') : undefined;
}

function few(paths: string[]): string {
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return `${paths.slice(0, 3).join(', ')}${more}`;
}

const hasUncommitted: Repositories['hasUncommitted'] = async (view, signal) => {
  const location = await locateRepository(view.directory, signal, {
    withSettings: true
  });
  if (!location) return false;
  const args = ['status', '--porcelain', '-z', '--no-renames'];
  const flags = ['--untracked-files=normal', '--ignore-submodules=dirty'];
  const call = { cwd: view.directory, signal };
  const status = await git([...args, ...flags], call);
  const ours = isOurs(location.top, view.owned);
  return status
    .toString('latin1')
    .split('\0')
    .map((entry) => entry.slice(3))
    .some((path) => path !== '' && !ours(path));
};
