import { open, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { FileChange } from '../../core/changes/ports.ts';
import { type Shadow, shadowGit } from './shadow.ts';
import { readable } from './take-tree.ts';

/** Nothing of a user's settings changes what these say, and nothing is run. */
const common = [
  'diff-tree',
  '-r',
  '-M',
  '-l400',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color'
];

/** The files in which two trees differ, seen from `root`. */
export async function changedFiles(
  shadow: Shadow,
  before: string,
  after: string,
  root: string,
  signal: AbortSignal
): Promise<FileChange[]> {
  const args = [...common, '-z', '--numstat', before, after];
  const text = await shadowGit(shadow, args, signal);
  const place = (path: string) =>
    relative(root, join(shadow.top, readable(path)))
      .split(sep)
      .join('/');
  const fields = text.toString('latin1').split('\0');
  const files: FileChange[] = [];
  for (let at = 0; at < fields.length; at += 1) {
    const [added, removed, path] = split(fields[at] ?? '');
    if (path === undefined) continue;
    const counts = { added: countOf(added), removed: countOf(removed) };
    if (path !== '') files.push({ path: place(path), ...counts });
    else {
      // A renamed file: its two names follow.
      const renamed_from = place(fields[at + 1] ?? '');
      files.push({
        path: place(fields[at + 2] ?? ''),
        ...counts,
        renamed_from
      });
      at += 2;
    }
  }
  return files;
}

/** Writes what `git apply` takes to a new file. */
export async function writePatch(
  shadow: Shadow,
  before: string,
  after: string,
  path: string,
  signal: AbortSignal
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  const names = ['--src-prefix=a/', '--dst-prefix=b/'];
  const args = [...common, '-p', '--binary', '-U3', ...names, before, after];
  try {
    await shadowGit(shadow, args, signal, { outputTo: file.fd });
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Two counts and a path, which may hold tabs itself. */
function split(field: string): [added: string, removed: string, path?: string] {
  const [added = '', removed = '', ...path] = field.split('\t');
  return path.length === 0
    ? [added, removed]
    : [added, removed, path.join('\t')];
}

function countOf(text: string): number | null {
  return text === '-' ? null : Number(text);
}
