import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { hasProc } from './process-table.ts';
import { isWindows } from './windows.ts';

/** The default directory of tmux's sockets. */
const sharedDirectory = '/tmp';
/** The longest socket path on every platform: macOS allows 103, Linux 107. */
const mostBytes = 103;

/**
 * A separate socket directory for an agent's tmux. A tmux server that an agent
 * starts ends with the agent, so the user's own sessions must not be in it. An
 * agent gets none if the user's server already runs, or if its environment
 * names a server or a directory. Never throws.
 */
export function ownTmux(
  { directory, environment }: Pick<LaunchRequest, 'directory' | 'environment'>,
  shared = sharedDirectory
): { TMUX_TMPDIR?: string } {
  const { TMUX, TMUX_TMPDIR } = environment;
  if (isWindows || TMUX || TMUX_TMPDIR || isListening(socketIn(shared)))
    return {};
  const sockets = socketDirectoryOf(directory);
  try {
    mkdirSync(sockets, { recursive: true, mode: 0o700 });
    return isOurs(sockets) ? { TMUX_TMPDIR: sockets } : {};
  } catch {
    return {};
  }
}

/** Whether a server is left in an agent's directory, since a person uses it. */
export function isOwnTmuxInUse(directory: string): boolean {
  return hasProc() && isListening(socketIn(socketDirectoryOf(directory)));
}

/** Removes the directory of an agent that has ended. Never throws. */
export function removeOwnTmux(directory: string): void {
  const sockets = socketDirectoryOf(directory);
  try {
    if (isOurs(sockets)) rmSync(sockets, { recursive: true, force: true });
  } catch {
    // It does not exist, or holds files of another user.
  }
}

/** A path by the agent's folder, short enough for a socket. */
function socketDirectoryOf(directory: string): string {
  const name = `troupe-${basename(dirname(directory))}-${basename(directory)}`;
  const path = join(tmpdir(), name);
  return Buffer.byteLength(socketIn(path)) > mostBytes
    ? join(sharedDirectory, name)
    : path;
}

function socketIn(directory: string): string {
  return join(directory, `tmux-${ourId()}`, 'default');
}

/** The socket file alone proves nothing: it outlives a killed server. */
function isListening(socket: string): boolean {
  if (!existsSync(socket)) return false;
  try {
    return readFileSync('/proc/net/unix', 'utf8').includes(` ${socket}\n`);
  } catch {
    return true;
  }
}

/** Another user may have created a directory of this name. */
function isOurs(directory: string): boolean {
  const stats = lstatSync(directory);
  const isPrivate = (stats.mode & 0o077) === 0;
  return stats.isDirectory() && stats.uid === ourId() && isPrivate;
}

/** The numeric id, because a user of a container may have no name. */
function ourId(): number | undefined {
  return process.getuid?.();
}
