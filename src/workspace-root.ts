import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Flags } from './config-overrides.ts';
import { HostError } from './core/errors.ts';

/** `--workspace`, else CLAUDE_PROJECT_DIR, else the working directory. */
export function workspaceOf(
  flags: Pick<Flags, 'workspace'>,
  environment: Record<string, string | undefined>
): string {
  const asked =
    flags.workspace ?? (environment.CLAUDE_PROJECT_DIR || undefined);
  const path = resolve(asked ?? currentDirectory());
  const there = statSync(path, { throwIfNoEntry: false });
  if (!there?.isDirectory())
    throw new HostError(
      'config_invalid',
      `The workspace ${path} ${there ? 'is no directory' : 'does not exist'}.`,
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
      'Change into one that is there, or give --workspace with a whole path.'
    );
  }
}

/** True where the working directory says nothing about the project. */
export function isNowhere(path: string): boolean {
  const real = realPathOf(path);
  return real === resolve('/') || real === realPathOf(homedir());
}

/** As it is written, where nothing is there. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
