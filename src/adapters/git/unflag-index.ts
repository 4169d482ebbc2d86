import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Shadow, shadowGit } from './shadow.ts';

/**
 * Makes git look at the files that its user told it to pass over
 * (`update-index --assume-unchanged`, `--skip-worktree`): an agent may change
 * them like any other. Only the shadow's index is changed.
 */
export async function unflagIndex(
  shadow: Shadow,
  signal: AbortSignal
): Promise<void> {
  const text = await shadowGit(shadow, ['ls-files', '-z', '-v'], signal);
  const entries = text
    .toString('latin1')
    .split('\0')
    .map((entry) => ({ tag: entry.slice(0, 1), path: entry.slice(2) }));
  const unchanged = entries.filter(({ tag }) => /[a-z]/.test(tag));
  // In a sparse checkout git itself looks at those that are there.
  const skipped = shadow.isSparse
    ? []
    : entries.filter(({ tag }) => /s/i.test(tag));
  const present: typeof skipped = [];
  for (const entry of skipped)
    if (await isThere(shadow.top, entry.path)) present.push(entry);
  const clear = async (flag: string, found: typeof entries) => {
    if (found.length === 0) return;
    const paths = found.map(({ path }) => `${path}\0`).join('');
    const input = Buffer.from(paths, 'latin1');
    const args = ['update-index', flag, '-z', '--stdin'];
    await shadowGit(shadow, args, signal, { input });
  };
  await clear('--no-assume-unchanged', unchanged);
  await clear('--no-skip-worktree', present);
}

function isThere(top: string, path: string): Promise<boolean> {
  const bytes = Buffer.from(path, 'latin1');
  return lstat(Buffer.concat([Buffer.from(join(top, '/')), bytes])).then(
    () => true,
    () => false
  );
}
