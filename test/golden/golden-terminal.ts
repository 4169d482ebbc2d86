import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { shownColors } from '../kit/judges/shown-colors.ts';
import { until } from '../kit/judges/until.ts';

export interface ShownCommand {
  /** Program and arguments. */
  words: string[];
  cwd: string;
  /** All that it has, TERM aside. */
  env: Record<string, string>;
}

export interface Screen {
  /** What is to be seen, colours as marks. */
  shown: () => Promise<string>;
  /** Keys by the names of tmux: `Enter`, `C-c`, `Down`, `q`. */
  press: (...keys: string[]) => Promise<void>;
  /** Text as it is, without Enter. */
  type: (text: string) => Promise<void>;
  close: () => Promise<void>;
  /** The last of the screen, when the program has ended. */
  ended: () => Promise<{ shown: string; code: number }>;
}

/** A real terminal of some width: a tmux server of our own. */
export interface GoldenTerminal {
  start: (
    command: ShownCommand,
    size: { columns: number; rows?: number }
  ) => Promise<Screen>;
  close: () => void;
}

const run = promisify(execFile);

/** Of a machine that has much to do. */
const patienceMs = 40_000;

/** So many lines of a command are seen. */
const manyRows = 400;

export function goldenTerminal(): GoldenTerminal {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-golden-'));
  const socket = join(folder, 'tmux.sock');
  const all = ['-u', '-f', '/dev/null', '-S', socket];
  const env = { ...process.env, TMUX: '', LANG: 'C.UTF-8' };
  const tmux = async (...args: string[]) =>
    (await run('tmux', [...all, ...args], { env })).stdout;
  let count = 0;
  // With its last session the server would end, just as another begins.
  let kept: Promise<string> | undefined;
  return {
    start: async (command, { columns, rows = manyRows }) => {
      kept ??= tmux('new-session', '-d', '-s', 'kept', 'exec sleep 6000');
      await kept;
      count += 1;
      const name = `s${count}`;
      const size = ['-x', `${columns}`, '-y', `${rows}`];
      await tmux('new-session', '-d', '-s', name, ...size, scriptOf(command));
      const shown = async () =>
        shownColors(await tmux('capture-pane', '-p', '-e', '-t', name));
      const ended = () =>
        until(
          'the end of the program',
          async () => {
            const screen = await shown();
            const end = /\[exit (\d+)\]\n*$/.exec(screen);
            if (!end) return undefined;
            return { shown: screen.slice(0, end.index), code: Number(end[1]) };
          },
          patienceMs
        );
      return {
        shown,
        press: async (...keys) => {
          await tmux('send-keys', '-t', name, ...keys);
        },
        type: async (text) => {
          await tmux('send-keys', '-t', name, '-l', text);
        },
        close: async () => {
          await tmux('kill-session', '-t', name);
        },
        ended: async () => {
          const last = await ended();
          await tmux('kill-session', '-t', name);
          return last;
        }
      };
    },
    close: () => {
      try {
        execFileSync('tmux', [...all, 'kill-server'], { stdio: 'ignore' });
      } catch {
        // Its last session has ended, and it with that.
      }
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** In the end it says how it ended; the terminal stays. */
function scriptOf({ words, cwd, env }: ShownCommand): string {
  const variables = Object.entries({ ...env, TERM: 'xterm-256color' });
  const settings = variables.map(([name, value]) => quoted(`${name}=${value}`));
  const command = `env -i ${settings.join(' ')} ${words.map(quoted).join(' ')}`;
  return `cd ${quoted(cwd)} && ${command}; printf '[exit %s]' $?; exec sleep 600`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
