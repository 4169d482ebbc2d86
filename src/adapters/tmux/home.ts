import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { HostError } from '../../core/errors.ts';
import { listPanes, type PaneRow, panesOf } from './pane-list.ts';

/** Where new panes open. */
export interface Home {
  /** Empty outside tmux: the user's default. */
  socket: string;
  environment: NodeJS.ProcessEnv;
  /** Six hex digits that tell workspaces apart. */
  workspace: string;
  /** The session that is ours; undefined inside tmux. */
  ownSession: string | undefined;
  /** The processes that we descend from, and we; nearest first. */
  lineage: () => number[];
}

export function homeOf(
  workspace: string,
  environment: NodeJS.ProcessEnv,
  above: () => number[]
): Home {
  const hash = createHash('sha256').update(realpathSync(workspace));
  const digits = hash.digest('hex').slice(0, 6);
  const socket = socketOf(environment);
  let lineage: number[] | undefined;
  return {
    socket: socket ?? '',
    environment,
    workspace: digits,
    ownSession: socket === undefined ? `troupe-${digits}` : undefined,
    lineage: () => {
      lineage ??= [process.pid, ...above()];
      return lineage;
    }
  };
}

/**
 * The panes of the window where a new one opens, in order: empty outside tmux
 * while our session is not there.
 * @throws HostError `terminal_failed` when we were started in a terminal that
 *   has gone, or in nobody knows which pane of it
 */
export function homePanes(home: Home, rows: PaneRow[]): PaneRow[] {
  const window = windowOf(home, rows);
  if (window !== undefined) return panesOf(rows, window);
  if (home.ownSession !== undefined) return [];
  if (rows.length > 0) throw paneUnknown(home);
  throw new HostError(
    'terminal_failed',
    `The tmux session in which troupe was started is gone (${home.socket}).`,
    'Start the client and troupe again inside a running tmux, or without TMUX in the environment.'
  );
}

export async function listHome(home: Home): Promise<PaneRow[]> {
  return homePanes(home, await listPanes(home.socket, home.environment));
}

/** Undefined when there is none. */
function windowOf(home: Home, rows: PaneRow[]): string | undefined {
  if (home.ownSession !== undefined) {
    const own = rows.filter((row) => row.sessionName === home.ownSession);
    const withAgents = own.find((row) => row.workspace === home.workspace);
    return (withAgents ?? own.find((row) => row.isShown))?.window;
  }
  const { TMUX_PANE: pane } = home.environment;
  const told = rows.find((row) => row.pane === pane);
  return (told ?? ancestorAmong(home, rows))?.window;
}

/** The pane whose process we descend from, which needs no variable. */
function ancestorAmong(home: Home, rows: PaneRow[]): PaneRow | undefined {
  const alive = rows.filter((row) => !row.isDead);
  for (const pid of home.lineage()) {
    const found = alive.find((row) => row.panePid === pid);
    if (found) return found;
  }
  return undefined;
}

/** Whatever window is shown may be anybody's. */
function paneUnknown({ socket, environment }: Home): HostError {
  const { TMUX_PANE: pane } = environment;
  return new HostError(
    'terminal_failed',
    `Nothing says in which pane troupe was started: TMUX_PANE is ${pane ? `${JSON.stringify(pane.slice(0, 50))}, which is no pane of ${socket}` : 'not set'}.`,
    'Hand TMUX and TMUX_PANE on to troupe as they are in its pane, or neither: then agents open in a session of their own.'
  );
}

/** TMUX is `<socket>,<pid of the server>,<number of the session>`. */
function socketOf({ TMUX }: NodeJS.ProcessEnv): string | undefined {
  if (!TMUX) return undefined;
  return /^(.*),\d+,\$?\d+$/.exec(TMUX)?.[1] ?? TMUX;
}
