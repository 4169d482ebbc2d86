import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { withAbsolutePath } from '../../core/engines/environment.ts';
import { isInside } from '../../core/paths/troupe-home.ts';
import { parseJson } from '../../core/runs/run-files.ts';
import { readIfExists } from '../../core/state/files/atomic-file.ts';
import { locate } from './locate.ts';
import { hasProc, type ProcessEntry } from './process-table.ts';

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
