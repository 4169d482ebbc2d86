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
}

export function homeOf(
  workspace: string,
  environment: NodeJS.ProcessEnv
): Home {
  const hash = createHash('sha256').update(realpathSync(workspace));
  const digits = hash.digest('hex').slice(0, 6);
  const socket = terminalOf(environment)?.socket;
  return {
    socket: socket ?? '',
    environment,
    workspace: digits,
    ownSession: socket === undefined ? `troupe-${digits}` : undefined
  };
}

/**
 * The panes of the window where a new one opens, in order: empty outside tmux
 * while our session is not there.
 * @throws HostError `terminal_failed` when we were started in a terminal that
 *   has gone
 */
export function homePanes(home: Home, rows: PaneRow[]): PaneRow[] {
  const window = windowOf(home, rows);
  if (window !== undefined) return panesOf(rows, window);
  if (home.ownSession !== undefined) return [];
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
  const session = terminalOf(home.environment)?.session;
  const here =
    rows.find((row) => row.pane === pane) ??
    rows.find((row) => row.session === session && row.isShown);
  return here?.window;
}

/** TMUX is `<socket>,<pid of the server>,<number of the session>`. */
function terminalOf({ TMUX }: NodeJS.ProcessEnv) {
  if (!TMUX) return undefined;
  const [, socket = TMUX, number = ''] = /^(.*),\d+,\$?(\d+)$/.exec(TMUX) ?? [];
  return { socket, session: `$${number}` };
}
