import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { withAbsolutePath } from '../../core/engines/environment.ts';
import { errnoOf } from '../../core/errors.ts';
import type { ProcessIdentity } from '../../core/processes/process-identity.ts';
import { isThere, isWindows } from './windows.ts';

export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /**
   * Dead, but not yet reaped by its parent. A process whose first thread has
   * ended lives as long as another one.
   */
  zombie: boolean;
  /** A thread of the kernel, which has no environment. */
  kernel: boolean;
  start: string;
}

/**
 * All processes now, from /proc, or else from `ps`.
 * @throws if there is neither
 */
export function processTable(useProc = hasProc()): ProcessEntry[] {
  if (!useProc) return parsePs(runPs());
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = procEntry(Number(name));
    if (entry) entries.push(entry);
  }
  return entries;
}

/**
 * The process with this number, or undefined.
 * @throws if `ps` cannot be run
 */
export function processEntry(
  pid: number,
  useProc = hasProc()
): ProcessEntry | undefined {
  if (isWindows) return isThere(pid) ? bareEntry(pid) : undefined;
  if (useProc) return procEntry(pid);
  try {
    return parsePs(runPs('-p', String(pid)))[0];
  } catch (error) {
    // Status 1 means that there is no such process.
    if (error instanceof Error && Reflect.get(error, 'status') === 1)
      return undefined;
    throw error;
  }
}

/** Whether a process of an earlier look has not ended since. */
export function isStillThere({
  pid,
  start
}: Pick<ProcessEntry, 'pid' | 'start'>): boolean {
  const now = processEntry(pid);
  return now !== undefined && !now.zombie && now.start === start;
}

/** Whether a process group exists; zombies count. */
export function hasGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}

/**
 * The environments that processes were started with, where readable. That of a
 * process that is in its `execve` is empty for a moment.
 */
export function processEnvironments(
  pids: number[],
  useProc = hasProc()
): Map<number, string> {
  return useProc ? procEnvironments(pids) : psEnvironments();
}

/** Set in every agent's environment; children inherit it. */
const markerPrefix = 'TROUPE_AGENT_DIR=';

/** The folder of the agent that started a process, by its environment. */
export function markerIn(environment: string | undefined): string | undefined {
  return environment
    ?.split('\0')
    .find((line) => line.startsWith(markerPrefix))
    ?.slice(markerPrefix.length);
}

let place: string | undefined;

/** The machine, boot and process namespace of this process. */
export function thisNamespace(): string {
  if (place === undefined) {
    const boot = read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
    place = [hostname(), boot, namespace()].filter(Boolean).join(' ');
  }
  return place;
}

export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, start: ownStart(), place: thisNamespace() };
}

/** Empty if `ps` is missing or not allowed. */
function ownStart(): string {
  try {
    return processEntry(process.pid)?.start ?? '';
  } catch {
    return '';
  }
}

let proc: boolean | undefined;

/** Cached, because every read of a process needs it. */
export function hasProc(): boolean {
  proc ??=
    process.platform === 'linux' && read('/proc/self/stat') !== undefined;
  return proc;
}

/** On Windows, reading the other fields takes a second of PowerShell. */
function bareEntry(pid: number): ProcessEntry {
  const none = { parent: 0, group: 0, session: 0 };
  return { pid, ...none, zombie: false, kernel: false, start: '' };
}

/** `PF_KTHREAD` of Linux. */
const kernelFlag = 0x20_0000;

function procEntry(pid: number): ProcessEntry | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The program's name, in parentheses, may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20);
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    zombie: /[ZX]/.test(fields[0] ?? '') && !(Number(fields[17]) > 1),
    kernel: (Number(fields[6]) & kernelFlag) !== 0,
    start: fields[19] ?? ''
  };
}

function procEnvironments(pids: number[]): Map<number, string> {
  const environments = new Map<number, string>();
  for (const pid of pids) {
    const own = read(`/proc/${pid}/environ`);
    const text = own || (environmentOfThread(pid) ?? own);
    if (text !== undefined) environments.set(pid, text);
  }
  return environments;
}

/** That of the process cannot be read once its first thread has ended. */
function environmentOfThread(pid: number): string | undefined {
  const threads = unlessUnreadable(() => readdirSync(`/proc/${pid}/task`));
  const other = threads?.find((thread) => thread !== String(pid));
  return other && read(`/proc/${pid}/task/${other}/environ`);
}

/**
 * With `e`, BSD and procps `ps` add the environment to the command. It is split
 * before each name, so that values may contain spaces.
 */
function psEnvironments(): Map<number, string> {
  const environments = new Map<number, string>();
  const output = execFileSync('ps', ['axeww', '-o', 'pid=,command='], {
    encoding: 'utf8',
    env: withAbsolutePath(process.env),
    maxBuffer: 64 * 1024 * 1024
  });
  for (const line of output.split('\n')) {
    const [, pid, text] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    if (pid && text)
      environments.set(Number(pid), text.replaceAll(/ (?=\w+=)/g, '\0'));
  }
  return environments;
}

function runPs(...selection: string[]): string {
  const columns = 'pid=,ppid=,pgid=,stat=,lstart=';
  return execFileSync(
    'ps',
    [...(selection.length > 0 ? selection : ['-A']), '-o', columns],
    // `ps` prints local time, and two servers may have different zones.
    {
      encoding: 'utf8',
      env: { ...withAbsolutePath(process.env), LC_ALL: 'C', TZ: 'UTC' }
    }
  );
}

/** Session numbers of `ps` vary between systems; the group replaces them. */
function parsePs(output: string): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const line of output.split('\n')) {
    const [pid, parent, group, state, ...start] = line.trim().split(/\s+/);
    if (!pid || !state) continue;
    entries.push({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      // `l` means several threads.
      zombie: state.startsWith('Z') && !state.includes('l'),
      kernel: false,
      start: start.join('_')
    });
  }
  return entries;
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/**
 * Undefined if the process is gone, or if we may not read it.
 * @throws on any other error, such as a lack of descriptors, which must not
 *   make a living process look dead
 */
export function read(path: string): string | undefined {
  return unlessUnreadable(() => readFileSync(path, 'utf8'));
}

function unlessUnreadable<Content>(reading: () => Content) {
  try {
    return reading();
  } catch (error) {
    if (unreadable.includes(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}

const unreadable = ['ENOENT', 'ESRCH', 'ENOTDIR', 'EACCES', 'EPERM'];
