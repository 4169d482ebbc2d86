import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processTable } from '../../../src/adapters/child-process/process-table.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { testEnvironment } from './mcp-client.ts';

/** A real terminal with a shell in the workspace, which knows `troupe`. */
export interface Screen {
  /** Types a command and Enter. */
  run: (command: string) => void;
  /** Presses keys, by the names that tmux has for them. */
  press: (...keys: string[]) => void;
  /** Pastes a text, as a terminal does. */
  paste: (text: string) => void;
  /** What is to be seen, without blanks at the end of lines. */
  text: () => string;
  /** The same with its colours, as escapes. */
  colored: () => string;
  /** From now on, every byte that programs write to the terminal. */
  record: () => () => string;
  /** Waits until all of it is to be seen; gives what is. */
  shows: (...what: (string | RegExp)[]) => Promise<string>;
  /** Waits until it is not to be seen any more. */
  hides: (what: string | RegExp) => Promise<string>;
  resize: (columns: number, rows: number) => void;
  isCursorShown: () => boolean;
  /** What was there before is hidden by a program that has the whole screen. */
  isCovered: () => boolean;
  /** The settings of the terminal, as `stty -a` prints them. */
  settings: () => Promise<string>;
  /** The process of the command that runs. */
  pid: () => number;
  close: () => void;
}

/** A busy machine may need so long to start a program and show it. */
const patienceMs = 60_000;

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

export function openScreen(
  workspace: TempWorkspace,
  columns = 80,
  rows = 24,
  environment: Record<string, string> = {}
): Screen {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-screen-'));
  const socket = join(folder, 'tmux.sock');
  const file = join(workspace.bin, 'troupe');
  writeFileSync(
    file,
    `#!/bin/sh\nexec '${process.execPath}' '${troupe}' "$@"\n`
  );
  chmodSync(file, 0o755);
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-u', '-f', '/dev/null', '-S', socket, ...args], {
      cwd: workspace.path,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: testEnvironment(workspace, { SHELL: '/bin/sh' })
    });
  const size = (width: number, height: number) => [
    ...['-x', String(width), '-y', String(height)]
  ];
  const env = { PS1: '$ ', ...environment };
  const set = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  tmux(
    ...['new-session', '-d', ...size(columns, rows)],
    `exec env ${set.join(' ')} sh`
  );
  const seen = (...flags: string[]) =>
    tmux('capture-pane', '-p', ...flags).replace(/[ \n]+$/, '');
  const fact = (name: string) => tmux('display', '-p', `#{${name}}`).trim();
  const has = (text: string, what: string | RegExp) =>
    typeof what === 'string' ? text.includes(what) : what.test(text);
  const looking = async (what: string, isIt: (text: string) => boolean) => {
    const ends = performance.now() + patienceMs;
    for (;;) {
      const text = seen();
      if (isIt(text)) return text;
      if (performance.now() > ends)
        throw new Error(`Never ${what}:\n${text}\n`);
      await delay(30);
    }
  };
  const screen: Screen = {
    run: (command) => {
      tmux('send-keys', '-l', command);
      tmux('send-keys', 'Enter');
    },
    press: (...keys) => {
      tmux('send-keys', ...keys);
    },
    paste: (text) => {
      tmux('set-buffer', text);
      tmux('paste-buffer', '-p');
    },
    text: () => seen(),
    colored: () => seen('-e'),
    record: () => {
      const file = join(folder, 'output');
      writeFileSync(file, '');
      tmux('pipe-pane', `exec cat >> '${file}'`);
      return () => readFileSync(file, 'utf8');
    },
    shows: (...what) =>
      looking(`seen ${what.join(' and ')}`, (text) =>
        what.every((one) => has(text, one))
      ),
    hides: (what) => looking(`gone ${what}`, (text) => !has(text, what)),
    resize: (width, height) => {
      tmux('resize-window', ...size(width, height));
    },
    isCursorShown: () => fact('cursor_flag') === '1',
    isCovered: () => fact('alternate_on') === '1',
    settings: async () => {
      const file = join(folder, 'stty');
      screen.run(`stty -a > '${file}'; echo stty''done`);
      await screen.shows('sttydone');
      screen.run('clear');
      await screen.hides('sttydone');
      return readFileSync(file, 'utf8');
    },
    pid: () => {
      const shell = fact('pane_pid');
      const children = processTable().filter(
        ({ parent }) => parent === Number(shell)
      );
      return children.at(-1)?.pid ?? 0;
    },
    close: () => {
      try {
        tmux('kill-server');
      } catch {
        // The test has ended the shell.
      }
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return screen;
}
