import { isServerGone, runTmux } from './tmux-command.ts';

/** A pane as tmux lists it. */
export interface PaneRow {
  /** The server's process: one server may have several sockets. */
  server: string;
  pane: string;
  /** The pane's first process; in a dead pane, its former number. */
  panePid: number;
  window: string;
  session: string;
  sessionName: string;
  width: number;
  height: number;
  layout: string;
  isZoomed: boolean;
  /** Its window is the one shown in its session. */
  isShown: boolean;
  isActive: boolean;
  isDead: boolean;
  /** Our mark; empty on a pane that we did not open. */
  agentId: string;
  workspace: string;
  /** Value of our option for the layout of its window, see panes.ts. */
  savedLayout: string;
  /** The workspace that its session was made for; empty if not ours. */
  home: string;
}

/** Marks our own session, whose name the user may change. */
export const homeMark = '@troupe_home';

const fields = [
  'pid',
  'pane_id',
  'pane_pid',
  'window_id',
  'session_id',
  'window_width',
  'window_height',
  'window_layout',
  'window_zoomed_flag',
  'window_active',
  'pane_active',
  'pane_dead',
  '@troupe_agent',
  '@troupe_workspace',
  '@troupe_layout',
  homeMark,
  // Last, because only this field may hold spaces.
  'session_name'
];

/**
 * All panes of a server, in the order of each window; none if there is no
 * server. A window that several sessions show is listed for each of them.
 * @throws TmuxError
 */
export async function listPanes(
  socket: string,
  environment: NodeJS.ProcessEnv
): Promise<PaneRow[]> {
  const format = fields.map((field) => `#{${field}}`).join(' ');
  const commands = [['list-panes', '-a', '-F', format]];
  try {
    const output = await runTmux({ socket, environment, commands });
    return output.split('\n').filter(Boolean).map(parseRow);
  } catch (error) {
    if (isServerGone(error)) return [];
    throw error;
  }
}

/** The panes of one window, in order. */
export function panesOf(rows: PaneRow[], window: string): PaneRow[] {
  const found = rows.filter((row) => row.window === window);
  return found.filter(({ session }) => session === found[0]?.session);
}

/** An agent id without spaces, as fields of a listing are separated by them. */
export function markOf(agentId: string): string {
  return encodeURIComponent(agentId);
}

function parseRow(line: string): PaneRow {
  const [server = '', pane = '', pid, window = '', session = '', ...more] =
    line.split(' ');
  const [width, height, layout = '', zoomed, shown, active, dead, ...rest] =
    more;
  const [
    agent = '',
    workspace = '',
    savedLayout = '',
    home = '',
    ...sessionName
  ] = rest;
  return {
    server,
    pane,
    panePid: Number(pid),
    window,
    session,
    sessionName: sessionName.join(' '),
    width: Number(width),
    height: Number(height),
    layout,
    isZoomed: zoomed === '1',
    isShown: shown === '1',
    isActive: active === '1',
    isDead: dead === '1',
    agentId: unmark(agent),
    workspace,
    savedLayout,
    home
  };
}

function unmark(mark: string): string {
  try {
    return decodeURIComponent(mark);
  } catch {
    return mark;
  }
}
