import { readdir } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import type { Worktree } from '../../core/changes/ports.ts';
import { ownReadFlags, readRegular } from '../../core/state/regular-file.ts';
import { git } from './run-git.ts';

/** What every worktree has, or what holds nothing of anybody's. */
const usual =
  /^(HEAD|commondir|gitdir|index|logs\/HEAD|sharedindex\.\w+|(reftable|fsmonitor--daemon).*)$/;

/**
 * True when git's own folder of a worktree holds something that would go with
 * it: the message or the place of a commit that was taken back, references
 * and settings of this worktree alone, the repositories of its submodules.
 */
export async function hasTraces(
  { path, base }: Worktree,
  signal: AbortSignal
): Promise<boolean> {
  const ask = async (...args: string[]) =>
    (await git(args, { cwd: path, signal })).toString().trimEnd();
  const own = await ask('rev-parse', '--absolute-git-dir');
  const common = resolve(path, await ask('rev-parse', '--git-common-dir'));
  const refs = ['refs/worktree', 'refs/bisect', 'refs/rewritten'];
  if ((await ask('for-each-ref', '--format=%(refname)', ...refs)) !== '')
    return true;
  for (const name of await filesIn(own)) {
    if (usual.test(name)) continue;
    const bytes = bytesOf(join(own, name));
    if (!bytes) return true;
    const expected =
      name === 'ORIG_HEAD'
        ? Buffer.from(`${base}\n`)
        : // Git gives a new worktree copies of some settings.
          bytesOf(join(common, name));
    if (!expected?.equals(bytes)) return true;
  }
  return false;
}

/** Undefined for a file that is not there, or is none that can be read. */
function bytesOf(path: string): Buffer | undefined {
  try {
    return readRegular(path, ownReadFlags);
  } catch {
    return undefined;
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, {
    recursive: true,
    withFileTypes: true
  });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
    .map((path) => path.split(sep).join('/'));
}
