import { isServerGone, runTmux } from './tmux-command.ts';

/** A pane as its server tells it. */
export interface PaneRow {
  /** Of the server: the same one may be known by several sockets. */
  server: string;
  pane: string;
  /** The first process in it; of a dead pane, who has had that number. */
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
  /** Marks of ours, empty on anybody else's. */
  agentId: string;
  workspace: string;
  /** What we know of its window, see arrange.ts. */
  memory: string;
}

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
  // The last, as only this one may hold spaces.
  'session_name'
];

/**
 * All panes of a server, those of a window in order; none when there is no
 * server. A window that several sessions show comes once for each.
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

/** Marks are one word each. */
export function markOf(agentId: string): string {
  return encodeURIComponent(agentId);
}

function parseRow(line: string): PaneRow {
  const [server = '', pane = '', pid, window = '', session = '', ...more] =
    line.split(' ');
  const [width, height, layout = '', zoomed, shown, active, dead, ...rest] =
    more;
  const [agent = '', workspace = '', memory = '', ...sessionName] = rest;
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
    memory
  };
}

function unmark(mark: string): string {
  try {
    return decodeURIComponent(mark);
  } catch {
    return mark;
  }
}
