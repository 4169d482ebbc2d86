import { setTimeout as delay } from 'node:timers/promises';
import { HostError } from '../../core/errors.ts';
import type {
  PaneRef,
  PaneRequest
} from '../../core/orchestrator/process/terminal.ts';
import { type Home, listHome } from './home.ts';
import {
  type Cell,
  formatLayout,
  leastHeight,
  leastWidth,
  leavesOf,
  parseLayout,
  planLayout,
  prune
} from './pane-layout.ts';
import {
  homeMark,
  listPanes,
  markOf,
  type PaneRow,
  panesOf
} from './pane-list.ts';
import { isOvertaken, runTmux, TmuxError } from './tmux-command.ts';

interface Server {
  socket: string;
  environment: NodeJS.ProcessEnv;
}

/** Runs until the program replaces it; exits by itself if we end first. */
const placeholder = ['sleep', '60'];

/** The size of our own session until a client attaches. */
const ownSize = ['-x', '220', '-y', '50'];

/** Another process may start or end the session meanwhile. */
const openAttempts = 8;
const againMs = 20;

/**
 * Opens a pane in the window where troupe runs, after the panes there.
 * @throws HostError `window_full`, `terminal_failed`, `no_terminal`
 */
export async function openPane(
  home: Home,
  request: PaneRequest
): Promise<PaneRef> {
  const { agentId } = request;
  const { socket } = home;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const panes = await listHome(home);
      const [first] = panes;
      const paneId = first
        ? await splitWindow(home, panes, first, request)
        : await newSession(home, request);
      return { agentId, paneId, socket };
    } catch (error) {
      const again = home.ownSession !== undefined && isOvertaken(error);
      if (!again || attempt === openAttempts) throw error;
      await delay(attempt * againMs);
    }
  }
}

/** Closes a pane and gives its space to the other panes of its window. */
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
    if (!(error instanceof TmuxError)) throw error;
    await arrange(server, row.window, zoom);
  }
}

async function newSession(home: Home, request: PaneRequest): Promise<string> {
  const name = home.ownSession ?? '';
  const target = `=${name}:`;
  const output = await runTmux({
    ...home,
    commands: [
      [
        ...['new-session', '-d', '-s', name, ...ownSize, '-P'],
        ...['-F', '#{pane_id}', '-c', literal(request.cwd), ...placeholder]
      ],
      // Some configurations end a session to which no client is attached.
      ['set-option', '-t', target, 'destroy-unattached', 'off'],
      ['set-option', '-t', target, homeMark, home.workspace],
      ...marks(home, target, request)
    ]
  });
  return output.trim();
}

async function splitWindow(
  home: Home,
  panes: PaneRow[],
  first: PaneRow,
  request: PaneRequest
): Promise<string> {
  const { window } = first;
  if (!fitsOneMore(panes)) throw windowFull(home, panes);
  const zoomed = zoomOf(panes);
  const output = await runTmux({
    ...home,
    commands: [
      [
        // With -f, the new pane comes after the last one.
        ...['split-window', '-d', '-f', '-l', '1', ...(zoomed ? ['-Z'] : [])],
        ...['-t', window, '-P', '-F', '#{pane_id}'],
        ...['-c', literal(request.cwd), ...placeholder]
      ]
    ]
  });
  const pane = output.trim();
  try {
    await runTmux({ ...home, commands: marks(home, pane, request) });
    // The panes from before the split, which has resized them.
    const known = [...panes, { ...first, pane, agentId: request.agentId }];
    if (await arrange(home, window, zoomed, known)) return pane;
  } catch (error) {
    await killPane(home, pane);
    throw error;
  }
  // Another process has taken the space.
  await killPane(home, pane);
  await arrange(home, window, zoomed);
  throw windowFull(home, panes);
}

function marks(home: Home, pane: string, request: PaneRequest): string[][] {
  const set = ['set-option', '-p', '-t', pane];
  return [
    [...set, '@troupe_agent', markOf(request.agentId)],
    [...set, '@troupe_workspace', home.workspace],
    [...set, 'remain-on-exit', 'off'],
    ['select-pane', '-t', pane, '-T', literal(request.title)]
  ];
}

async function killPane(server: Server, pane: string): Promise<void> {
  await runTmux({ ...server, commands: [['kill-pane', '-t', pane]] }).catch(
    () => undefined
  );
}

/** Escapes text: tmux would expand `#{…}` and even run `#(…)`. */
function literal(text: string): string {
  return text.replace(/[\x00-\x1f\x7f]/g, ' ').replaceAll('#', '##');
}

function windowFull(home: Home, panes: PaneRow[]): HostError {
  const { width = 0, height = 0, sessionName = '' } = panes[0] ?? {};
  const count = panes.length === 1 ? '1 pane' : `${panes.length} panes`;
  return new HostError(
    'window_full',
    `The tmux window is ${width}x${height} and has ${count}: no room for one more of ${leastWidth}x${leastHeight}.`,
    home.ownSession === undefined
      ? 'Enlarge the window, delete an agent that is done, or start troupe outside tmux, where it has a window of its own.'
      : `Delete an agent that is done, or enlarge the window: tmux attach -t '${sessionName}'`
  );
}

/** Another process may change the window meanwhile. */
const arrangeAttempts = 5;

/** The window option that stores the user's part and our layout. */
const layoutOption = '@troupe_layout';

/**
 * The commands that lay out a window, with all its panes or without one.
 * Undefined if the panes do not fit.
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
  const { own, agents } = partsOf(first, staying);
  const plan = planLayout(first, own, agents);
  if (!plan) return undefined;
  const numbers = staying.map(({ pane }) => Number(pane.slice(1)));
  const layout = formatLayout(plan, numbers);
  const known = own && agents > 0 ? [`${formatLayout(own)}|${layout}`] : [];
  return [
    ['select-layout', '-t', window, layout],
    [
      'set-option',
      known.length > 0 ? '-w' : '-wu',
      '-t',
      window,
      layoutOption
    ].concat(known)
  ];
}

function fitsOneMore(panes: PaneRow[]): boolean {
  const [first] = panes;
  if (!first || !parseLayout(first.layout)) return true;
  const { own, agents } = partsOf(first, panes);
  return planLayout(first, own, agents + 1) !== undefined;
}

/**
 * The user's part, and the number of panes after it. A pane that the user
 * opened after an agent's pane counts as an agent's. While our last layout is
 * unchanged, the user's part has the sizes from before agents took its space.
 */
function partsOf(
  first: PaneRow,
  panes: PaneRow[]
): { own: Cell | undefined; agents: number } {
  const firstAgent = panes.findIndex(({ agentId }) => agentId !== '');
  const users = firstAgent === -1 ? panes : panes.slice(0, firstAgent);
  const numbers = users.map(({ pane }) => Number(pane.slice(1)));
  const agents = panes.length - users.length;
  const [own = '', ours] = first.savedLayout.split('|');
  const before = ours === first.layout ? parseLayout(own) : undefined;
  const now = parseLayout(first.layout);
  const known = before && leavesOf(before).map(({ pane }) => pane);
  if (known?.join() === numbers.join()) return { own: before, agents };
  return { own: now && prune(now, new Set(numbers)), agents };
}

/** The zoomed pane, to restore the zoom after a change of the layout. */
function zoomOf(panes: PaneRow[]): string | undefined {
  return panes.find(({ isZoomed, isActive }) => isZoomed && isActive)?.pane;
}

/**
 * Lays out a window again.
 * @param known its panes, for the first attempt
 * @returns false if they do not fit
 */
async function arrange(
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
    const isThere = panes.some(({ pane }) => pane === zoomed);
    const zoom = zoomOf(panes) ?? (isThere ? zoomed : undefined);
    const commands = [
      ...layout,
      ...(zoom ? [['resize-pane', '-Z', '-t', zoom]] : [])
    ];
    try {
      await runTmux({ ...server, commands });
      return true;
    } catch (error) {
      if (!(error instanceof TmuxError) || attempt === arrangeAttempts)
        throw error;
    }
  }
}

async function listWindow(server: Server, window: string): Promise<PaneRow[]> {
  return panesOf(await listPanes(server.socket, server.environment), window);
}
