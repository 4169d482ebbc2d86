import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HostError } from '../../core/errors.ts';
import type {
  PaneRef,
  PaneRequest,
  PaneState,
  Terminal
} from '../../core/orchestrator/terminal.ts';
import { closePane } from './arrange.ts';
import { type Home, homeOf, homePanes } from './home.ts';
import { openPane } from './open-pane.ts';
import { listPanes, type PaneRow } from './pane-list.ts';
import { preparePane } from './pane-script.ts';
import { runTmux } from './tmux-command.ts';

export interface TerminalSettings {
  workspace: string;
  /** The folder of the reaper. */
  programs: string;
  /** The processes that we descend from, nearest first. */
  above: () => number[];
  environment?: NodeJS.ProcessEnv;
}

/** Programs take an Enter that comes at once for a part of the paste. */
const enterMs = 300;

/** What stands below the last words of a program that has ended. */
const endedLine = '(this agent has ended)';

/**
 * Panes of tmux: in the window that we were started in, even while the user
 * looks at another, or else in one session of our own on the user's server.
 */
export function createTerminal({
  workspace,
  programs,
  above,
  environment = process.env
}: TerminalSettings): Terminal {
  let found: Home | undefined;
  // Looked for when it is needed, which a start of the server is not.
  const homeNow = () => {
    found ??= homeOf(workspace, environment, above);
    return found;
  };
  const reaper = join(programs, 'reaper.cjs');
  let last: Promise<unknown> = Promise.resolve();
  /** What changes a window's layout comes one after the other. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  const tmux = (pane: PaneRef, commands: string[][], input?: string) =>
    runTmux({
      socket: pane.socket,
      environment,
      commands,
      ...(input === undefined ? {} : { input })
    });
  const find = async (pane: PaneRef): Promise<PaneRow | undefined> => {
    const rows = await listPanes(pane.socket, environment);
    return rows.find(
      (row) =>
        row.pane === pane.paneId &&
        row.agentId === pane.agentId &&
        row.workspace === homeNow().workspace
    );
  };
  return {
    open: (request: PaneRequest) => inTurn(() => openPane(homeNow(), request)),
    launch: async (pane, request) => {
      if (!(await find(pane))) throw paneGone(pane);
      const { paneId } = pane;
      const remain = ['set-option', '-p', '-t', paneId];
      await tmux(pane, [
        [...remain, 'remain-on-exit', 'on'],
        [...remain, '-q', 'remain-on-exit-format', endedLine],
        ['clear-history', '-t', paneId],
        ['respawn-pane', '-k', '-t', paneId, ...preparePane(request, reaper)]
      ]);
    },
    screen: async (pane, lines) => {
      const row = await find(pane);
      if (!row) return [];
      const { paneId } = pane;
      const output = await tmux(pane, [
        ['capture-pane', '-p', '-J', '-S', `-${lines}`, '-t', paneId]
      ]).catch(() => '');
      const said = output.split('\n').map((line) => line.trimEnd());
      return said.filter((line) => line && !isEnd(line, row)).slice(-lines);
    },
    paste: async (pane, text) => {
      const row = await find(pane);
      if (!row || row.isDead) throw paneGone(pane);
      if (text !== '') {
        await tmux(pane, pasteInto(pane, ['-p']), unbroken(text));
        await delay(enterMs);
      }
      // Not a key: those go to the user who is scrolling there, or to others.
      await tmux(pane, pasteInto(pane), '\r');
    },
    close: (pane) =>
      inTurn(async () => {
        const row = await find(pane);
        if (row) await closePane({ socket: pane.socket, environment }, row);
      }),
    panes: async (sockets) => {
      const home = homeNow();
      const all = [...new Set([home.socket, ...sockets])];
      const lists = await Promise.all(
        all.map(async (socket) => ({
          socket,
          rows: await listPanes(socket, environment).catch(noTerminal)
        }))
      );
      const here = windowHere(() => homePanes(home, lists[0]?.rows ?? []));
      const states = new Map<string, PaneState>();
      for (const { socket, rows } of lists)
        for (const row of rows) {
          const key = `${row.server} ${row.pane}`;
          if (row.workspace !== home.workspace || states.has(key)) continue;
          states.set(key, {
            agentId: row.agentId,
            paneId: row.pane,
            socket,
            isDead: row.isDead,
            isHere: socket === home.socket && row.window === here
          });
        }
      return [...states.values()];
    }
  };
}

/** `-r` leaves line breaks alone: they come as they are, not as Enter. */
function pasteInto(pane: PaneRef, options: string[] = []): string[][] {
  const buffer = `troupe-${randomUUID()}`;
  return [
    ['load-buffer', '-b', buffer, '-'],
    ['paste-buffer', '-d', '-r', ...options, '-b', buffer, '-t', pane.paneId]
  ];
}

/** No text may say that the paste ends here: what follows would be typed. */
function unbroken(text: string): string {
  return text.replace(/\x1b+(?=\[201~)/g, '');
}

function isEnd(line: string, { isDead }: PaneRow): boolean {
  return isDead && (line === endedLine || line.startsWith('Pane is dead'));
}

function windowHere(panes: () => PaneRow[]): string | undefined {
  try {
    return panes()[0]?.window;
  } catch {
    return undefined;
  }
}

/** Without tmux there are no panes. */
function noTerminal(error: unknown): PaneRow[] {
  if (error instanceof HostError && error.code === 'no_terminal') return [];
  throw error;
}

function paneGone({ agentId, paneId }: PaneRef): HostError {
  return new HostError(
    'terminal_failed',
    `The pane of agent ${agentId} (${paneId}) is gone, or what ran in it has ended.`,
    'Somebody closed it. Delete the agent and create it again.'
  );
}
