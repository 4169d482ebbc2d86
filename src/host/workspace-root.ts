import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Flags } from '../config/overrides.ts';
import { HostError } from '../core/errors.ts';

/** `--workspace`, else CLAUDE_PROJECT_DIR, else the working directory. */
export function workspaceOf(
  flags: Pick<Flags, 'workspace'>,
  environment: Record<string, string | undefined>
): string {
  const asked =
    flags.workspace ?? (environment.CLAUDE_PROJECT_DIR || undefined);
  const path = resolve(asked ?? currentDirectory());
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory())
    throw new HostError(
      'config_invalid',
      `The workspace ${path} ${stats ? 'is not a directory' : 'does not exist'}.`,
      'Give an existing directory with --workspace.'
    );
  return realpathSync(path);
}

function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    throw new HostError(
      'config_invalid',
      'The current directory is gone.',
      'Change into one that exists, or give --workspace with an absolute path.'
    );
  }
}

/** True for the root and the home directory, which are no projects. */
export function isNowhere(path: string): boolean {
  const real = realPathOf(path);
  return real === resolve('/') || real === realPathOf(homedir());
}

/** The absolute path, with links resolved if it exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
