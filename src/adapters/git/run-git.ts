import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { withAbsolutePath } from '../../core/engines/search-path.ts';
import { errnoOf, messageOf } from '../../core/errors.ts';
import { expectDescriptorRoom } from '../child-process/descriptor-room.ts';

export interface GitCall {
  cwd: string;
  /** Added to the little that git is given of our environment. */
  env?: Record<string, string>;
  input?: Buffer;
  /** An open file that takes what git puts out. */
  outputTo?: number;
  signal: AbortSignal;
}

/** Git could not do it; the message is git's own, on one line. */
export class GitError extends Error {}

/** More than that on stdout is no answer any more. */
const maximumBytes = 64 * 1024 * 1024;

/** Between asking git to end and ending it. */
const killMs = 300;

/** Programs that a repository's configuration could make git run. */
const settings = [
  'core.fsmonitor=false',
  // A project may hold a directory that looks like a repository.
  'safe.bareRepository=explicit',
  'core.hooksPath=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false'
].flatMap((setting) => ['-c', setting]);

/**
 * Runs git, without a shell, hooks, prompts or locks on the user's index. One
 * that is aborted has ended when this rejects, unless the system holds it.
 * @throws GitError what git says, or what the signal was aborted with
 */
export function git(args: string[], call: GitCall): Promise<Buffer> {
  const { cwd, env, input, outputTo, signal } = call;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    try {
      expectDescriptorRoom(3);
    } catch (error) {
      return reject(new GitError(messageOf(error)));
    }
    const child = spawn('git', [...settings, ...args], {
      cwd,
      env: { ...environment(), ...env },
      // A Ctrl-C in the terminal is not for git, and a filter ends with it.
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: [input ? 'pipe' : 'ignore', outputTo ?? 'pipe', 'pipe']
    });
    const abandon = () => reject(reasonOf(signal));
    const stop = () => {
      kill(child);
      child.once('exit', abandon);
      setTimeout(abandon, 2 * killMs).unref();
    };
    signal.addEventListener('abort', stop, { once: true });
    const settled = () => signal.removeEventListener('abort', stop);
    const output: Buffer[] = [];
    let bytes = 0;
    let words = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maximumBytes) output.push(chunk);
      else kill(child);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      if (words.length < 4000) words += chunk.toString();
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    child.once('error', (error) => {
      settled();
      reject(notStarted(error, cwd));
    });
    child.once('close', (code) => {
      settled();
      if (code === 0) return resolve(Buffer.concat(output));
      const tooMuch = bytes > maximumBytes ? 'git put out too much' : undefined;
      reject(new GitError(tooMuch ?? (oneLine(words) || `git exited ${code}`)));
    });
  });
}

/** As much as git needs; keys and marks of ours stay here. */
function environment(): Record<string, string> {
  const allowed =
    /^(HOME|PATH|USER|LOGNAME|TMPDIR|TMP|TEMP|XDG_.*|GIT_(EXEC_PATH|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)|SYSTEMROOT|COMSPEC|PATHEXT|USERPROFILE|HOMEDRIVE|HOMEPATH|(LOCAL)?APPDATA|PROGRAM(FILES|DATA))$/i;
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    allowed.test(name) && value !== undefined ? [[name, value]] : []
  );
  return {
    ...withAbsolutePath(Object.fromEntries(kept)),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1'
  };
}

/** Asked first, with its filters: git takes away what it left half done. */
function kill(child: ChildProcess): void {
  signalGroup(child, 'SIGTERM');
  setTimeout(() => signalGroup(child, 'SIGKILL'), killMs).unref();
}

function signalGroup(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  const { pid, exitCode, signalCode } = child;
  const isOver = exitCode !== null || signalCode !== null;
  try {
    if (pid === undefined || process.platform === 'win32') child.kill(name);
    else if (!isOver) process.kill(-pid, name);
  } catch {
    // It has ended by itself.
  }
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new GitError('git was stopped');
}

function notStarted(error: Error, cwd: string): GitError {
  if (errnoOf(error) !== 'ENOENT') return new GitError(error.message);
  return new GitError(
    existsSync(cwd) ? 'git is not installed' : `${cwd} is gone`
  );
}

/** Handles the error of a command run where there is no repository. */
export function absentAs<T>(value: T): (error: unknown) => T {
  return (error) => {
    const words = error instanceof GitError ? error.message : '';
    if (/not a git repository|must be run in a work tree/.test(words))
      return value;
    throw error;
  };
}

function oneLine(words: string): string {
  const line = words.trim().replace(/\s*\n\s*/g, '; ');
  return line.length > 400 ? `${line.slice(0, 400)}…` : line;
}
