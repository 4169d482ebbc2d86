import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { parse } from 'node:path';
import spawn from 'cross-spawn';

export interface ProbeOutput {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** True: it said more than is kept. */
  isCut: boolean;
}

/**
 * Some take four seconds to start alone, and several times that on a machine
 * that is busy: only what hangs should reach it.
 */
export const probeLimitMs = 15_000;
/** For what a program that has ended wrote last. */
const drainMs = 200;
/** For a killed program to be gone. */
const killMs = 1000;
const maximumChars = 100_000;

export interface ProbeOptions {
  /** When aborted, its answer is not wanted any more. */
  signal?: AbortSignal;
  /** Default: the home directory, since a project could steer the program. */
  cwd?: string;
}

/**
 * Runs a program that answers at once, such as `--version`, with nothing on
 * stdin. Undefined when it did not start or did not end within its limit.
 * What it started and has not ended by then is killed.
 */
export function probeProgram(
  path: string,
  args: string[],
  environment: Record<string, string>,
  { signal, cwd = ownDirectory() }: ProbeOptions = {}
): Promise<ProbeOutput | undefined> {
  return new Promise((resolve) => {
    const output = { stdout: '', stderr: '', isCut: false };
    const child = spawn(path, args, {
      cwd,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32'
    });
    let isFinished = false;
    const finish = (exitCode: number | null) => {
      if (isFinished) return;
      isFinished = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      for (const stream of [child.stdout, child.stderr]) stream?.destroy();
      killGroup(child);
      child.unref();
      resolve(exitCode === null ? undefined : { exitCode, ...output });
    };
    const giveUp = () => {
      killGroup(child);
      setTimeout(() => finish(null), killMs).unref();
    };
    const timer = setTimeout(giveUp, probeLimitMs);
    signal?.addEventListener('abort', giveUp, { once: true });
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        const all = output[name] + text;
        output[name] = all.slice(0, maximumChars);
        output.isCut ||= all.length > maximumChars;
      });
    child.once('error', () => finish(null));
    child.once('exit', (code) => {
      // Something it left running may hold its output open.
      setTimeout(() => finish(code), drainMs);
      child.once('close', () => finish(code));
    });
  });
}

function ownDirectory(): string {
  const home = homedir();
  return existsSync(home) ? home : parse(process.cwd()).root;
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid === undefined || process.platform === 'win32') child.kill();
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}
