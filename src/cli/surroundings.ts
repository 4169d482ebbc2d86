import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { absolutePath } from '../core/engines/search-path.ts';
import { orphansIn } from '../core/paths/records.ts';
import type { Host } from '../host.ts';
import { probeProgram } from './probe-program.ts';
import { describeError } from './shared.ts';

/** Where the host works, apart from engines. */
export interface Surroundings {
  node: { version: string; required: string; ok: boolean };
  directories: DirectoryCheck[];
  /** Why what is ours in the workspace, or the council, may not be used. */
  unsafe: string | null;
  /** Workspaces that are gone, and have records. */
  orphans: string[];
  /** Null when it is not installed. */
  tmux: { path: string; version: string | null } | null;
}

export interface DirectoryCheck {
  path: string;
  state: 'writable' | 'created when needed' | 'not writable';
}

const required = '20.19';

export async function checkSurroundings(host: Host): Promise<Surroundings> {
  const { record, shared, views } = host.paths;
  const { node } = process.versions;
  return {
    node: { version: node, required, ok: isAtLeast(node, required) },
    directories: [views.directory, shared.directory, record].map((path) =>
      checkDirectory(path)
    ),
    unsafe: checkSafety(host),
    orphans: orphansIn(host.paths.home).map(({ workspace }) => workspace),
    tmux: await checkTmux(host)
  };
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Looks only: the directory is not made by asking. */
function checkDirectory(path: string): DirectoryCheck {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there && !there.isDirectory()) return { path, state: 'not writable' };
  try {
    accessSync(there ? path : above(path), constants.W_OK | constants.X_OK);
  } catch {
    return { path, state: 'not writable' };
  }
  return { path, state: there ? 'writable' : 'created when needed' };
}

/** The next directory above that is there. */
function above(path: string): string {
  const next = dirname(path);
  return existsSync(next) || next === path ? next : above(next);
}

function checkSafety({ safety }: Host): string | null {
  try {
    safety.check(true);
    return null;
  } catch (error) {
    return describeError(error);
  }
}

async function checkTmux(host: Host): Promise<Surroundings['tmux']> {
  const path = host.processes.locate('tmux');
  if (path === undefined) return null;
  const environment = { PATH: absolutePath(process.env.PATH ?? '') };
  const answer = await probeProgram(path, ['-V'], environment);
  return { path, version: answer?.stdout.trim() || null };
}
