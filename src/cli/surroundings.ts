import { accessSync, constants, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { absolutePath } from '../core/engines/search-path.ts';
import type { Host } from '../host.ts';
import { probeProgram } from './probe-program.ts';
import { describeError } from './shared.ts';

/** Where the host works, apart from engines. */
export interface Surroundings {
  node: { version: string; required: string; ok: boolean };
  directories: DirectoryCheck[];
  /** Why what is ours in the workspace, or the council, may not be used. */
  unsafe: string | null;
  /** Null when it is not installed. */
  tmux: { path: string; version: string | null } | null;
}

export interface DirectoryCheck {
  path: string;
  state: 'writable' | 'created when needed' | 'not writable';
}

const required = '20.19';

export async function checkSurroundings(host: Host): Promise<Surroundings> {
  const { workspace } = host.config;
  const { node } = process.versions;
  return {
    node: { version: node, required, ok: isAtLeast(node, required) },
    directories: ['logs', '.agents'].map((name) =>
      checkDirectory(join(workspace, name))
    ),
    unsafe: checkSafety(host),
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
    accessSync(there ? path : dirname(path), constants.W_OK | constants.X_OK);
  } catch {
    return { path, state: 'not writable' };
  }
  return { path, state: there ? 'writable' : 'created when needed' };
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
