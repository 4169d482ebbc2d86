import { realpath } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { copyRegular } from './copy-file.ts';
import type { Place } from './place.ts';
import { GitError, git } from './run-git.ts';

/** A setting of git's, and what it was set to. */
export type Setting = [key: string, value: string];

/**
 * Settings of a project that decide how a file becomes an object. The others
 * are not taken over: an agent may have written them, and some are programs.
 */
const inherited =
  '^core\\.(filemode|ignorecase|symlinks|autocrlf|eol|safecrlf|precomposeunicode|checkstat|trustctime|excludesfile|attributesfile|sparsecheckout|sparsecheckoutcone)$';

const files = ['core.excludesfile', 'core.attributesfile'];

/** A list of patterns that is larger was made to keep git busy. */
export const mostPatternBytes = 1024 * 1024;

/**
 * The settings that a shadow takes over. A file that the repository's own
 * configuration names is copied into the shadow, if it is a regular file of
 * the work tree or the repository: git would follow a link out of it, and
 * wait for a FIFO. The user's own configuration may name any file.
 * @returns the settings, and what was left out
 */
export async function inheritSettings(
  { top, own, common }: Place,
  shadow: string,
  signal: AbortSignal
): Promise<{ settings: Setting[]; omitted: string[] }> {
  const within = [await realpath(top), own, common];
  const omitted: string[] = [];
  const settings: Setting[] = [];
  for (const { scope, key, value } of await scopedSettings(top, signal)) {
    const isProjects = scope === 'local' || scope === 'worktree';
    if (!isProjects || !files.includes(key)) {
      settings.push([key, value]);
      continue;
    }
    const copy = join(shadow, 'info', key.slice('core.'.length));
    const reason =
      value.startsWith('~') || value === ''
        ? 'it leads outside the repository'
        : await copyRegular(
            isAbsolute(value) ? value : resolve(top, value),
            copy,
            { within, mostBytes: mostPatternBytes }
          );
    if (reason === undefined) settings.push([key, copy]);
    else omitted.push(`${key} of .git/config (${reason})`);
  }
  return { settings, omitted };
}

interface Scoped {
  scope: string;
  key: string;
  value: string;
}

async function scopedSettings(
  top: string,
  signal: AbortSignal
): Promise<Scoped[]> {
  const call = { cwd: top, signal };
  const args = ['config', '-z', '--show-scope', '--get-regexp', inherited];
  const text = await git(args, call).catch((error: unknown) => {
    // Git says nothing when there is no such setting.
    if (error instanceof GitError && error.message === 'git exited 1')
      return Buffer.alloc(0);
    throw error;
  });
  const fields = text.toString().split('\0');
  const settings: Scoped[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [key = '', ...value] = (fields[at + 1] ?? '').split('\n');
    settings.push({
      scope: fields[at] ?? '',
      key,
      value: value.length > 0 ? value.join('\n') : 'true'
    });
  }
  return settings;
}
