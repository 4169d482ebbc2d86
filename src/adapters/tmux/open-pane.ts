import { setTimeout as delay } from 'node:timers/promises';
import { HostError } from '../../core/errors.ts';
import type { PaneRef, PaneRequest } from '../../core/orchestrator/terminal.ts';
import { arrange, fitsOneMore, type Server, zoomOf } from './arrange.ts';
import { type Home, listHome } from './home.ts';
import { leastHeight, leastWidth } from './pane-layout.ts';
import { markOf, type PaneRow } from './pane-list.ts';
import { isOvertaken, runTmux } from './tmux-command.ts';

/** Goes by itself when we end before something is started in its place. */
const placeholder = ['sleep', '60'];

/** Of our own session, until somebody looks at it. */
const ownSize = ['-x', '220', '-y', '50'];

/** Times that a session may end, or begin, under our hands. */
const attempts = 8;
const againMs = 20;

/**
 * Opens a pane where the user has troupe, behind those that are there.
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
      if (!again || attempt === attempts) throw error;
      await delay(attempt * againMs);
    }
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
      // Nobody looks at it yet, which some have set to be its end.
      ['set-option', '-t', target, 'destroy-unattached', 'off'],
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
        // Across the whole window is behind the last pane, whichever that is.
        ...['split-window', '-d', '-f', '-l', '1', ...(zoomed ? ['-Z'] : [])],
        ...['-t', window, '-P', '-F', '#{pane_id}'],
        ...['-c', literal(request.cwd), ...placeholder]
      ]
    ]
  });
  const pane = output.trim();
  try {
    await runTmux({ ...home, commands: marks(home, pane, request) });
    // As it was before the split: that has moved everything already.
    const known = [...panes, { ...first, pane, agentId: request.agentId }];
    if (await arrange(home, window, zoomed, known)) return pane;
  } catch (error) {
    await takeBack(home, pane);
    throw error;
  }
  // Somebody else took the room in the meantime.
  await takeBack(home, pane);
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

async function takeBack(server: Server, pane: string): Promise<void> {
  await runTmux({ ...server, commands: [['kill-pane', '-t', pane]] }).catch(
    () => undefined
  );
}

/** tmux would replace `#{…}` and even run `#(…)`. */
function literal(text: string): string {
  return text.replace(/[\x00-\x1f\x7f]/g, ' ').replaceAll('#', '##');
}

function windowFull(home: Home, panes: PaneRow[]): HostError {
  const { width = 0, height = 0 } = panes[0] ?? {};
  const count = panes.length === 1 ? '1 pane' : `${panes.length} panes`;
  return new HostError(
    'window_full',
    `The tmux window is ${width}x${height} and has ${count}: no room for one more of ${leastWidth}x${leastHeight}.`,
    home.ownSession === undefined
      ? 'Enlarge the window, delete an agent that is done, or start troupe outside tmux, where it has a window of its own.'
      : `Delete an agent that is done, or enlarge the window: tmux attach -t ${home.ownSession}`
  );
}
