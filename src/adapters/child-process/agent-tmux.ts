import { execFile } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { withAbsolutePath } from '../../core/engines/environment.ts';
import { isInside } from '../../core/paths/troupe-home.ts';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { parseJson } from '../../core/runs/run-files.ts';
import { readIfExists } from '../../core/state/files/atomic-file.ts';
import { locate } from './locate.ts';
import { hasProc, type ProcessEntry } from './process-table.ts';
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

const askMs = 2000;

interface Panes {
  /** Pids of the panes in sessions of a person. */
  theirs: Set<number>;
  /** Pids of the panes that the agent opened. */
  own: Set<number>;
}

/**
 * Keeps the tmux sessions of a person alive when an agent ends that started
 * their server, which has the marker of the agent, as have all its panes. Only
 * on Linux, where a process can be asked for its socket.
 */
export class SharedTmux {
  readonly #directory: string;
  /** By pid and start time; undefined for a server of the agent alone. */
  readonly #servers = new Map<string, Promise<Panes | undefined>>();

  /** @param directory the agent's folder */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The members that may be ended. */
  async without(
    members: ProcessEntry[],
    table: ProcessEntry[]
  ): Promise<ProcessEntry[]> {
    if (!hasProc()) return members;
    const spared = new Set<number>();
    for (const server of members.filter(isServer)) {
      const key = `${server.pid} ${server.start}`;
      const asked = this.#servers.get(key) ?? this.#ask(server.pid);
      this.#servers.set(key, asked);
      const panes = await asked;
      if (panes) spare(spared, server.pid, panes, table);
    }
    return members.filter(({ pid }) => !spared.has(pid));
  }

  /** Undefined, too, for a server that does not answer. */
  async #ask(server: number): Promise<Panes | undefined> {
    const panes: Panes = { theirs: new Set(), own: new Set() };
    try {
      const socket = socketOf(server);
      if (socket === undefined) return undefined;
      const bases = [
        cwdOf(this.#directory),
        readlinkSync(`/proc/${server}/cwd`)
      ];
      for (const line of await listPanes(server, socket)) {
        const [pid, attached = '', path = ''] = line.split('\t');
        const isInTheirs =
          // An agent has no terminal to attach.
          attached !== '' ||
          (path !== '' && !bases.some((base) => base && isInside(base, path)));
        panes[isInTheirs ? 'theirs' : 'own'].add(Number(pid));
      }
    } catch {
      return undefined;
    }
    // A pane may be in sessions of both.
    for (const pid of panes.theirs) panes.own.delete(pid);
    return panes.theirs.size > 0 ? panes : undefined;
  }
}

function isServer({ pid }: ProcessEntry): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('tmux: server');
  } catch {
    return false;
  }
}

/** The path of the socket on which a process listens. */
function socketOf(pid: number): string | undefined {
  const folder = `/proc/${pid}/fd`;
  const inodes = new Set(
    readdirSync(folder).map((name) => {
      try {
        const link = readlinkSync(join(folder, name));
        return /^socket:\[(\d+)\]$/.exec(link)?.[1];
      } catch {
        return undefined;
      }
    })
  );
  for (const line of readFileSync('/proc/net/unix', 'utf8').split('\n')) {
    const [, flags, inode, path] =
      /^\S+ \S+ \S+ (\S+) \S+ \S+ +(\d+) (\/.*)$/.exec(line) ?? [];
    if (flags === listening && inodes.has(inode)) return path;
  }
  return undefined;
}

const listening = '00010000';

/**
 * Asks only a server that runs the tmux of this machine: a client does what its
 * server says, and the process of an agent can have any name.
 * @throws Error for another program, and when tmux fails
 */
async function listPanes(server: number, socket: string): Promise<string[]> {
  const program = locate('tmux');
  if (!program || realpathSync(program) !== readlinkSync(`/proc/${server}/exe`))
    throw new Error('not the tmux of this machine');
  const format = '#{pane_pid}\t#{session_last_attached}\t#{session_path}';
  const args = ['-u', '-S', socket, 'list-panes', '-a', '-F', format];
  const env = withAbsolutePath(process.env);
  const stdout = await new Promise<string>((resolve, reject) => {
    const options = { env, timeout: askMs };
    execFile(program, args, options, (error, stdout) =>
      error ? reject(error) : resolve(stdout)
    );
  });
  return stdout.split('\n').filter(Boolean);
}

/** Where the agent works; undefined for a worker. */
function cwdOf(directory: string): string | undefined {
  const record = parseJson(readIfExists(join(directory, 'record.json')) ?? '');
  const cwd =
    typeof record === 'object' && record && Reflect.get(record, 'cwd');
  return typeof cwd === 'string' ? cwd : undefined;
}

/** Spares a server and what is below it, except for the agent's own panes. */
function spare(
  spared: Set<number>,
  server: number,
  { theirs, own }: Panes,
  table: ProcessEntry[]
): void {
  spared.add(server);
  for (let before = 0; before < spared.size; ) {
    before = spared.size;
    for (const { pid, parent, session } of table)
      if ((spared.has(parent) || theirs.has(session)) && !own.has(pid))
        spared.add(pid);
  }
}
