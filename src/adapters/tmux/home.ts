import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { HostError } from '../../core/errors.ts';
import { listPanes, type PaneRow, panesOf } from './pane-list.ts';

/** The tmux server and session in which new panes open. */
export interface Home {
  /** Empty outside tmux: the user's default. */
  socket: string;
  environment: NodeJS.ProcessEnv;
  /** Six hex digits that identify the workspace. */
  workspace: string;
  /** The name that a new session of ours gets; undefined inside tmux. */
  ownSession: string | undefined;
  /** This process and its ancestors, nearest first. */
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
 * The panes of the window where a new pane opens, in order; empty outside tmux
 * until our session exists.
 * @throws HostError `terminal_failed` if the terminal that we were started in
 *   is gone, or our pane in it cannot be found
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

/** The window where new panes open; undefined if there is none. */
function windowOf(home: Home, rows: PaneRow[]): string | undefined {
  if (home.ownSession !== undefined) {
    const own = ownRows(home, rows);
    const withAgents = own.find((row) => row.workspace === home.workspace);
    return (withAgents ?? own.find((row) => row.isShown))?.window;
  }
  const { TMUX_PANE: pane } = home.environment;
  const named = rows.find((row) => row.pane === pane);
  return (named ?? ancestorAmong(home, rows))?.window;
}

/**
 * The panes of our own session. It is found by its mark, else by having only
 * panes of our agents, else by its name, which the user may have changed.
 */
function ownRows({ workspace, ownSession }: Home, rows: PaneRow[]): PaneRow[] {
  const sessions = [...new Set(rows.map(({ session }) => session))].map((id) =>
    rows.filter(({ session }) => session === id)
  );
  const marked = sessions.filter((panes) =>
    panes.some(({ home }) => home === workspace)
  );
  const filled = sessions.filter((panes) =>
    panes.every((pane) => pane.workspace === workspace)
  );
  const named = sessions.filter((panes) =>
    panes.some(({ sessionName }) => sessionName === ownSession)
  );
  return (
    [marked, filled, named].find((found) => found.length > 0)?.flat() ?? []
  );
}

/** The pane whose process we descend from, found without TMUX_PANE. */
function ancestorAmong(home: Home, rows: PaneRow[]): PaneRow | undefined {
  const alive = rows.filter((row) => !row.isDead);
  for (const pid of home.lineage()) {
    const found = alive.find((row) => row.panePid === pid);
    if (found) return found;
  }
  return undefined;
}

/** There is no fallback: the shown window may be unrelated to troupe. */
function paneUnknown({ socket, environment }: Home): HostError {
  const { TMUX_PANE: pane } = environment;
  return new HostError(
    'terminal_failed',
    `The pane in which troupe was started is not known: TMUX_PANE is ${pane ? `${JSON.stringify(pane.slice(0, 50))}, which is not a pane of ${socket}` : 'not set'}.`,
    'Pass TMUX and TMUX_PANE to troupe as they are in its pane, or neither: agents then open in a session of their own.'
  );
}

/** TMUX is `<socket>,<pid of the server>,<number of the session>`. */
function socketOf({ TMUX }: NodeJS.ProcessEnv): string | undefined {
  if (!TMUX) return undefined;
  return /^(.*),\d+,\$?\d+$/.exec(TMUX)?.[1] ?? TMUX;
}
