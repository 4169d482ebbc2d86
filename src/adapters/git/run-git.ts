import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { withAbsolutePath } from '../../core/engines/environment.ts';
import { errnoOf, messageOf } from '../../core/errors.ts';
import { joinLines } from '../../core/text.ts';
import { expectDescriptorRoom } from '../child-process/descriptor-room.ts';

export interface GitCall {
  cwd: string;
  /** Added to the allow-listed variables of our environment. */
  env?: Record<string, string>;
  input?: Buffer;
  /** An open file to which git's output goes. */
  outputTo?: number;
  signal: AbortSignal;
}

/** A git command failed; the message is git's own, on one line. */
export class GitError extends Error {}

/** Git is killed if it prints more. */
const maximumBytes = 64 * 1024 * 1024;

/** Time between SIGTERM and SIGKILL. */
const killMs = 300;

/** Keeps git from running programs that a repository's settings name. */
const settings = [
  'core.fsmonitor=false',
  // A project may contain a directory that looks like a repository.
  'safe.bareRepository=explicit',
  'core.hooksPath=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false'
].flatMap((setting) => ['-c', setting]);

/**
 * Runs git without a shell, hooks, prompts or locks on the user's index. After
 * an abort, this rejects once git has exited, or after 600 ms if it has not.
 * @throws GitError with git's message, or the reason of the signal
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
      // In its own group, Ctrl-C does not reach git, and filters end with it.
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
    const cleanUp = () => signal.removeEventListener('abort', stop);
    const output: Buffer[] = [];
    let bytes = 0;
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maximumBytes) output.push(chunk);
      else kill(child);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      if (stderr.length < 4000) stderr += chunk.toString();
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    child.once('error', (error) => {
      cleanUp();
      reject(notStarted(error, cwd));
    });
    child.once('close', (code) => {
      cleanUp();
      if (code === 0) return resolve(Buffer.concat(output));
      const tooMuch = bytes > maximumBytes ? 'git printed too much' : undefined;
      reject(
        new GitError(tooMuch ?? (shortLine(stderr) || `git exited ${code}`))
      );
    });
  });
}

/** Git's output without its final newline. */
export function lineOf(output: Buffer): string {
  return output.toString().replace(/\r?\n$/, '');
}

/** The fields of `-z`, with one character per byte; empty ones are left out. */
export function fieldsOf(output: Buffer): string[] {
  return output.toString('latin1').split('\0').filter(Boolean);
}

/** What `git config` prints of the settings that match; empty if none does. */
export function matchingSettings(
  pattern: string,
  flag: '--show-scope' | '--name-only',
  call: GitCall
): Promise<Buffer> {
  const args = ['config', '-z', flag, '--get-regexp', pattern];
  return git(args, call).catch((error: unknown) => {
    // Git exits with 1 and prints nothing when no setting matches.
    if (error instanceof GitError && error.message === 'git exited 1')
      return Buffer.alloc(0);
    throw error;
  });
}

/** The allow-listed variables, without our keys and markers. */
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

/** SIGTERM comes first, so that git removes its unfinished files. */
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
    // It has already ended.
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

/** @throws the error, unless it means that there is no repository */
export function ignoreNoRepository(error: unknown): undefined {
  const message = error instanceof GitError ? error.message : '';
  if (/not a git repository|must be run in a work tree/.test(message))
    return undefined;
  throw error;
}

function shortLine(text: string): string {
  const line = joinLines(text);
  return line.length > 400 ? `${line.slice(0, 400)}…` : line;
}
