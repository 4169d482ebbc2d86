import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { createTerminal } from '../../../src/adapters/tmux/tmux.ts';
import type {
  PaneRef,
  Terminal
} from '../../../src/core/orchestrator/process/terminal.ts';
import { emptyExitFile } from '../../../src/core/runs/run-files.ts';
import { writeNew } from '../../../src/core/state/files/atomic-file.ts';
import { until } from '../judges/until.ts';
import { needing } from './needs.ts';

/** `test`, where there is tmux. */
export const testTmux = needing('tmux', locate('tmux') !== undefined);

export const programs = join(import.meta.dirname, '../../../dist');

export interface ShownPane {
  id: string;
  window: string;
  title: string;
  width: number;
  height: number;
  agent: string;
}

/** A tmux server of a test's own, with one session `main` and one pane. */
export interface TmuxStage {
  /** The workspace, and a folder for whatever the test makes. */
  path: string;
  socket: string;
  /** Of the program that was started in the first pane. */
  environment: NodeJS.ProcessEnv;
  /** Runs tmux on the server, and gives what it says without its last end. */
  tmux: (...args: string[]) => string;
  terminal: (
    environment?: NodeJS.ProcessEnv,
    /** The processes that it descends from. */
    above?: () => number[]
  ) => Terminal;
  /** Opens this many agents' panes, one after the other: `a1` and so on. */
  openMany: (terminal: Terminal, count: number) => Promise<PaneRef[]>;
  panes: () => ShownPane[];
  /** Everything the user could see change. */
  snapshot: () => string;
  /** A person in front of a session; a tmux of its own is the terminal. */
  attach: (session: string, width: number, height: number) => Promise<void>;
  /** An agent's folder as it is laid out before it starts. */
  agentFolder: (name: string) => string;
  stop: () => void;
}

export function tmuxStage(width = 120, height = 36): TmuxStage {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-tmux-')));
  const socket = join(path, 'tmux.sock');
  const outer = join(path, 'outer.sock');
  const on = (server: string, ...args: string[]) =>
    execFileSync('tmux', ['-u', '-f', '/dev/null', '-S', server, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMUX: '' }
    }).replace(/\n$/, '');
  const tmux = (...args: string[]) => on(socket, ...args);
  const size = ['-x', String(width), '-y', String(height)];
  tmux('new-session', '-d', '-s', 'main', ...size, 'exec cat');
  const facts = tmux('list-panes', '-aF', '#{pid},#{session_id} #{pane_id}');
  const [server = '', pane = ''] = facts.split(' ');
  const environment = {
    ...process.env,
    TMUX: `${socket},${server.replace('$', '')}`,
    TMUX_PANE: pane
  };
  return {
    path,
    socket,
    environment,
    tmux,
    terminal: (changed = {}, above = () => []) =>
      createTerminal({
        workspace: path,
        programs,
        above,
        environment: { ...environment, ...changed }
      }),
    openMany: async (terminal, count) => {
      const refs: PaneRef[] = [];
      for (let n = 1; n <= count; n += 1) {
        const agentId = `a${n}`;
        refs.push(await terminal.open({ agentId, title: agentId, cwd: path }));
      }
      return refs;
    },
    panes: () => shownPanes(tmux),
    snapshot: () =>
      tmux(
        'list-panes',
        '-aF',
        '#{session_name} #{window_id} #{window_layout} #{window_active} #{pane_id} #{pane_active} #{pane_title} #{window_zoomed_flag}'
      ),
    attach: async (session, columns, rows) => {
      const size = ['-x', String(columns), '-y', String(rows + 1)];
      on(
        outer,
        ...['new-session', '-d', ...size],
        `exec env -u TMUX tmux -S '${socket}' attach -t ${session}`
      );
      await until(
        'the client to be there',
        () => tmux('list-clients') !== '' || undefined
      );
    },
    agentFolder: (name) => {
      const directory = join(path, name);
      mkdirSync(directory);
      writeNew(join(directory, 'exit'), emptyExitFile);
      return directory;
    },
    stop: () => {
      for (const server of [outer, socket])
        try {
          on(server, 'kill-server');
        } catch {
          // The test has ended it.
        }
      rmSync(path, { recursive: true, force: true });
    }
  };
}

export function shownPanes(tmux: TmuxStage['tmux']): ShownPane[] {
  const format =
    '#{pane_id} #{window_id} #{pane_width} #{pane_height} #{@troupe_agent} #{pane_title}';
  return tmux('list-panes', '-aF', format)
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [id = '', window = '', width, height, agent = '', ...title] =
        line.split(' ');
      return {
        id,
        window,
        title: title.join(' '),
        width: Number(width),
        height: Number(height),
        agent
      };
    });
}
