import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HostError } from '../../core/errors.ts';
import type {
  PaneRef,
  PaneRequest,
  PaneState,
  Terminal
} from '../../core/orchestrator/process/terminal.ts';
import { type Home, homeOf, homePanes } from './home.ts';
import { listPanes, type PaneRow } from './pane-list.ts';
import { preparePane } from './pane-script.ts';
import { closePane, openPane } from './panes.ts';
import { runTmux } from './tmux-command.ts';

interface TerminalSettings {
  workspace: string;
  /** The folder of the reaper. */
  programs: string;
  /** The ancestors of this process, nearest first. */
  above: () => number[];
  environment?: NodeJS.ProcessEnv;
}

/** Delay before Enter: programs would read an earlier one as pasted text. */
const enterMs = 300;

/** The last line in the pane of a program that has ended. */
const endedLine = '(this agent has ended)';

/**
 * Implements the terminal port with tmux. Panes open in the window in which
 * troupe was started, even if another window is shown; outside tmux, they open
 * in our own session on the user's server.
 */
export function createTerminal({
  workspace,
  programs,
  above,
  environment = process.env
}: TerminalSettings): Terminal {
  let found: Home | undefined;
  // Resolved on first use, which keeps the start of a server fast.
  const homeNow = () => {
    found ??= homeOf(workspace, environment, above);
    return found;
  };
  const reaper = join(programs, 'reaper.cjs');
  let last: Promise<unknown> = Promise.resolve();
  /** Runs changes of the layout one after another. */
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
      const shown = output.split('\n').map((line) => line.trimEnd());
      return shown.filter((line) => line && !isEnd(line, row)).slice(-lines);
    },
    paste: async (pane, text) => {
      const row = await find(pane);
      if (!row || row.isDead) throw paneGone(pane);
      if (text !== '') {
        await tmux(pane, pasteInto(pane, ['-p']), withoutPasteEnd(text));
        await delay(enterMs);
      }
      // Pasted, because a key would go to copy mode or to synchronized panes.
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
      const here = currentWindow(() => homePanes(home, lists[0]?.rows ?? []));
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

/** `-r` keeps line feeds, which tmux otherwise replaces with Enter. */
function pasteInto(pane: PaneRef, options: string[] = []): string[][] {
  const buffer = `troupe-${randomUUID()}`;
  return [
    ['load-buffer', '-b', buffer, '-'],
    ['paste-buffer', '-d', '-r', ...options, '-b', buffer, '-t', pane.paneId]
  ];
}

/** Removes ends of a bracketed paste: text after them would be typed. */
function withoutPasteEnd(text: string): string {
  return text.replace(/\x1b+(?=\[201~)/g, '');
}

function isEnd(line: string, { isDead }: PaneRow): boolean {
  return isDead && (line === endedLine || line.startsWith('Pane is dead'));
}

function currentWindow(panes: () => PaneRow[]): string | undefined {
  try {
    return panes()[0]?.window;
  } catch {
    return undefined;
  }
}

/** Without tmux, there are no panes to list. */
function noTerminal(error: unknown): PaneRow[] {
  if (error instanceof HostError && error.code === 'no_terminal') return [];
  throw error;
}

function paneGone({ agentId, paneId }: PaneRef): HostError {
  return new HostError(
    'terminal_failed',
    `The pane of agent ${agentId} (${paneId}) is gone, or its program has ended.`,
    'Delete the agent and create it again.'
  );
}
