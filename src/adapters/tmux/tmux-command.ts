import { execFile } from 'node:child_process';
import { withAbsolutePath } from '../../core/engines/environment.ts';
import { HostError } from '../../core/errors.ts';
import { joinLines } from '../../core/text.ts';
import { locate } from '../child-process/locate.ts';

interface TmuxCall {
  /** Path of the server's socket; empty: the user's default. */
  socket: string;
  environment: NodeJS.ProcessEnv;
  /** One or more commands; the first that fails ends the call. */
  commands: string[][];
  input?: string;
}

/** Time limit of a call, because a paused server blocks its clients forever. */
const answerMs = 10_000;

/** Output limit of a call; a screen with its history is far smaller. */
const maximumBytes = 16 * 1024 * 1024;

/** A failed tmux command; `words` is its own message. */
export class TmuxError extends HostError {
  readonly words: string;

  constructor(command: string, words: string) {
    super(
      'terminal_failed',
      `tmux ${command} failed: ${words}.`,
      'Does `tmux list-panes -a` answer in that terminal? Call again, or set orchestrator.backend to "process".'
    );
    this.words = words;
  }
}

/**
 * Runs tmux, without a shell, and returns its output.
 * @throws TmuxError, or HostError `no_terminal`
 */
export function runTmux(call: TmuxCall): Promise<string> {
  const { socket, environment, commands, input } = call;
  const program = locate('tmux', environment.PATH ?? '');
  if (!program) return Promise.reject(notInstalled());
  const name = commands.map(([command = '']) => command).join(', ');
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      ['-u', ...(socket === '' ? [] : ['-S', socket]), ...sequence(commands)],
      {
        env: clientEnvironment(environment),
        timeout: answerMs,
        killSignal: 'SIGKILL',
        maxBuffer: maximumBytes,
        encoding: 'utf8'
      },
      (error, output, complaint) => {
        if (!error) return resolve(output);
        const words = sentenceOf(complaint) || sentenceOf(error.message);
        const timedOut = error.killed === true;
        reject(
          new TmuxError(
            name,
            timedOut ? `no answer within ${answerMs / 1000} seconds` : words
          )
        );
      }
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** True if the server is not running, is ending, or has no session. */
export function isServerGone(error: unknown): boolean {
  return hasMessage(
    error,
    /no server running|\((No such file|Connection refused|Not a directory)|server exited|lost server|no current target/
  );
}

/** True if the target is gone, or if another process was faster. */
export function isOvertaken(error: unknown): boolean {
  return (
    isServerGone(error) ||
    hasMessage(error, /can't find|duplicate session|no such/)
  );
}

function hasMessage(error: unknown, pattern: RegExp): boolean {
  return error instanceof TmuxError && pattern.test(error.words);
}

/** tmux reads a `;` at the end of an argument as the end of the command. */
function sequence(commands: string[][]): string[] {
  return commands.flatMap((command, index) => [
    ...(index === 0 ? [] : [';']),
    ...command.map((argument) => argument.replace(/;$/, '\\;'))
  ]);
}

/**
 * A server that this call starts outlives us and passes its environment to
 * every shell in it, so our keys and marks are left out.
 */
function clientEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed =
    /^(HOME|PATH|SHELL|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|TMPDIR|TMUX_TMPDIR|XDG_\w+|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|SSH_(AUTH_SOCK|AGENT_PID|CONNECTION)|EDITOR|VISUAL|PAGER)$/;
  return withAbsolutePath(
    Object.fromEntries(
      Object.entries(environment).filter(([name]) => allowed.test(name))
    )
  );
}

function notInstalled(): HostError {
  return new HostError(
    'no_terminal',
    'tmux is not installed: it is not on the PATH.',
    'Install it (apt install tmux, brew install tmux), or set orchestrator.backend to "process", which needs no terminal.'
  );
}

function sentenceOf(words: string): string {
  return joinLines(words).replace(/\.$/, '');
}
