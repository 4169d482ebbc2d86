import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { parse } from 'node:path';
import spawn from 'cross-spawn';

export interface ProbeOutput {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** True when stdout or stderr was longer than `maximumChars`. */
  isCut: boolean;
}

/**
 * Some programs take four seconds to start, and several times that on a busy
 * machine: only a program that hangs should reach the limit.
 */
export const probeLimitMs = 15_000;
/** How long the last output is read after the program has exited. */
const drainMs = 200;
/** How long a killed program may take to exit. */
const killMs = 1000;
const maximumChars = 100_000;
/** Set in the environment of a probed troupe. */
export const probedVariable = 'TROUPE_PROBED';
export const isProbed = process.env[probedVariable] !== undefined;
/**
 * A probed troupe leaves its own probes in its group, so that the prober can
 * end them all.
 */
const leadsGroups = process.platform !== 'win32' && !isProbed;
const interruptions = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface ProbeOptions {
  /** Aborted when the answer is no longer needed. */
  signal?: AbortSignal;
  /** Default: the home directory, since a project could affect the program. */
  cwd?: string;
}

/**
 * Runs a program with arguments that it answers at once, such as `--version`,
 * without stdin. Undefined when the program does not start, is ended by a
 * signal or does not exit within the limit. Processes that it leaves behind
 * are killed, also when a signal ends this process.
 */
export function probeProgram(
  path: string,
  args: string[],
  environment: Record<string, string>,
  { signal, cwd = homeOrRoot() }: ProbeOptions = {}
): Promise<ProbeOutput | undefined> {
  if (isInterrupted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const output = { stdout: '', stderr: '', isCut: false };
    const child = spawn(path, args, {
      cwd,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: leadsGroups
    });
    let isFinished = false;
    const finish = (exitCode: number | null) => {
      if (isFinished) return;
      isFinished = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      ended(child);
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
    started(child);
    signal?.addEventListener('abort', giveUp, { once: true });
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        const all = output[name] + text;
        output[name] = all.slice(0, maximumChars);
        output.isCut ||= all.length > maximumChars;
      });
    child.once('error', () => finish(null));
    child.once('exit', (code) => {
      // A process that the program leaves running may keep its output open.
      setTimeout(() => finish(code), drainMs);
      child.once('close', () => finish(code));
    });
  });
}

let isInterrupted = false;
/** Each in a group of its own, which gets no signal of the terminal. */
const probed = new Set<ChildProcess>();

function started(child: ChildProcess): void {
  if (probed.size === 0)
    for (const name of interruptions) process.once(name, interrupted);
  probed.add(child);
}

function ended(child: ChildProcess): void {
  probed.delete(child);
  if (probed.size > 0) return;
  for (const name of interruptions) process.removeListener(name, interrupted);
}

/** Ends this process, too, unless another listener decides about that. */
function interrupted(name: NodeJS.Signals): void {
  isInterrupted = true;
  for (const child of probed) killGroup(child);
  if (process.listenerCount(name) === 0) process.kill(process.pid, name);
}

function homeOrRoot(): string {
  const home = homedir();
  return existsSync(home) ? home : parse(process.cwd()).root;
}

/** Kills the process group that a child leads, or else the child. */
export function killGroup(child: ChildProcess): void {
  try {
    if (child.pid === undefined || !leadsGroups) child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has already exited.
  }
}
