import {
  type Cell,
  formatLayout,
  leavesOf,
  parseLayout
} from './layout-text.ts';
import { planLayout, prune } from './pane-layout.ts';
import { listPanes, type PaneRow, panesOf } from './pane-list.ts';
import { isOvertaken, runTmux, TmuxError } from './tmux-command.ts';

export interface Server {
  socket: string;
  environment: NodeJS.ProcessEnv;
}

/** Times that somebody else may change the window under our hands. */
const attempts = 5;

/** What we know of a window that we have laid out, as one of its options. */
const memory = '@troupe_layout';

/**
 * The commands that lay out a window, of all its panes or without one.
 * Undefined when they do not fit.
 */
function layoutCommands(
  panes: PaneRow[],
  without?: string
): string[][] | undefined {
  const [first] = panes;
  if (!first) return [];
  const { window } = first;
  if (!parseLayout(first.layout))
    return [['select-layout', '-t', window, 'tiled']];
  const staying = panes.filter(({ pane }) => pane !== without);
  if (staying.length === 0) return [];
  const { own, others } = partsOf(first, staying);
  const plan = planLayout(first, own, others);
  if (!plan) return undefined;
  const numbers = staying.map(({ pane }) => Number(pane.slice(1)));
  const layout = formatLayout(plan, numbers);
  const known = own && others > 0 ? [`${formatLayout(own)}|${layout}`] : [];
  return [
    ['select-layout', '-t', window, layout],
    [
      'set-option',
      known.length > 0 ? '-w' : '-wu',
      '-t',
      window,
      memory
    ].concat(known)
  ];
}

/** False when one more pane would not. */
export function fitsOneMore(panes: PaneRow[]): boolean {
  const [first] = panes;
  if (!first || !parseLayout(first.layout)) return true;
  const { own, others } = partsOf(first, panes);
  return planLayout(first, own, others + 1) !== undefined;
}

/**
 * The user's own part, and how many panes come after. What the user opened
 * behind an agent's pane is laid out among them. While nobody has changed our
 * layout, the user's part is taken as it was before it had to make room.
 */
function partsOf(
  first: PaneRow,
  panes: PaneRow[]
): { own: Cell | undefined; others: number } {
  const agent = panes.findIndex(({ agentId }) => agentId !== '');
  const users = agent === -1 ? panes : panes.slice(0, agent);
  const numbers = users.map(({ pane }) => Number(pane.slice(1)));
  const others = panes.length - users.length;
  const [own = '', ours] = first.memory.split('|');
  const before = ours === first.layout ? parseLayout(own) : undefined;
  const now = parseLayout(first.layout);
  const isSame =
    before &&
    leavesOf(before)
      .map(({ pane }) => pane)
      .join() === numbers.join();
  if (isSame) return { own: before, others };
  return { own: now && prune(now, new Set(numbers)), others };
}

/** The same window stays zoomed on the same pane. */
export function zoomOf(panes: PaneRow[]): string | undefined {
  return panes.find(({ isZoomed, isActive }) => isZoomed && isActive)?.pane;
}

/**
 * Lays a window out anew.
 * @param known its panes, as far as we know
 * @returns false when they do not fit
 */
export async function arrange(
  server: Server,
  window: string,
  zoomed: string | undefined,
  known?: PaneRow[]
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const panes =
      attempt === 1 && known ? known : await listWindow(server, window);
    const [first] = panes;
    if (!first) return true;
    const layout = layoutCommands(panes);
    if (!layout) return false;
    const zoom = zoomOf(panes) ?? zoomed;
    const commands = [
      ...layout,
      ...(zoom ? [['resize-pane', '-Z', '-t', zoom]] : [])
    ];
    try {
      await runTmux({ ...server, commands });
      return true;
    } catch (error) {
      if (!(error instanceof TmuxError) || attempt === attempts) throw error;
    }
  }
}

/** Closes a pane and gives its room to the others of its window. */
export async function closePane(server: Server, row: PaneRow): Promise<void> {
  const panes = await listWindow(server, row.window);
  const layout = layoutCommands(panes, row.pane) ?? [];
  const zoomed = zoomOf(panes);
  const zoom = zoomed === row.pane ? undefined : zoomed;
  const commands = [
    ['kill-pane', '-t', row.pane],
    ...layout,
    ...(zoom ? [['resize-pane', '-Z', '-t', zoom]] : [])
  ];
  try {
    await runTmux({ ...server, commands });
  } catch (error) {
    if (isOvertaken(error)) return;
    if (!(error instanceof TmuxError)) throw error;
    await arrange(server, row.window, zoom);
  }
}

async function listWindow(server: Server, window: string): Promise<PaneRow[]> {
  return panesOf(await listPanes(server.socket, server.environment), window);
}
