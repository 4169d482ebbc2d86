import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { withAbsolutePath } from '../../core/engines/search-path.ts';
import { errnoOf } from '../../core/errors.ts';
import type { ProcessIdentity } from '../../core/runs/run.ts';
import { isThere, isWindows } from './windows.ts';

export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /** Already dead, not yet reaped by its parent. */
  zombie: boolean;
  start: string;
}

/**
 * All processes now. Reads /proc where there is one, else asks `ps`.
 * @throws when neither is there: then nothing can be said about any process.
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
 * One process, or undefined when there is none with that number.
 * @throws when `ps` cannot be asked
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
    // Its answer when there is none; anything else says nothing.
    if (error instanceof Error && Reflect.get(error, 'status') === 1)
      return undefined;
    throw error;
  }
}

/** The environment a process was started with, where we may read it. */
export function processEnvironments(
  pids: number[],
  useProc = hasProc()
): Map<number, string> {
  return useProc ? procEnvironments(pids) : psEnvironments();
}

let place: string | undefined;

/** Machine, boot and process namespace of this process: they stay. */
export function thisPlace(): string {
  if (place === undefined) {
    const boot = read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
    place = [hostname(), boot, namespace()].filter(Boolean).join(' ');
  }
  return place;
}

export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, start: ownStart(), place: thisPlace() };
}

/** Empty where `ps` is not there, or not allowed. */
function ownStart(): string {
  try {
    return processEntry(process.pid)?.start ?? '';
  } catch {
    return '';
  }
}

let proc: boolean | undefined;

/** Asked for every look at a process, so it is found out once. */
export function hasProc(): boolean {
  proc ??=
    process.platform === 'linux' && read('/proc/self/stat') !== undefined;
  return proc;
}

/** Windows tells nothing more without a second of PowerShell. */
function bareEntry(pid: number): ProcessEntry {
  return { pid, parent: 0, group: 0, session: 0, zombie: false, start: '' };
}

function procEntry(pid: number): ProcessEntry | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The program's name stands in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20);
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    zombie: fields[0] === 'Z' || fields[0] === 'X',
    start: fields[19] ?? ''
  };
}

function procEnvironments(pids: number[]): Map<number, string> {
  const environments = new Map<number, string>();
  for (const pid of pids) {
    const text = read(`/proc/${pid}/environ`);
    if (text) environments.set(pid, text);
  }
  return environments;
}

/**
 * `e` makes both BSD and procps ps add the environment to the command. It is
 * split where a name follows, so that values may hold spaces.
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
    // It tells local time: two servers may live in different zones.
    {
      encoding: 'utf8',
      env: { ...withAbsolutePath(process.env), LC_ALL: 'C', TZ: 'UTC' }
    }
  );
}

/** `ps` numbers sessions differently everywhere; the group has to do. */
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
      zombie: state.startsWith('Z'),
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
 * Undefined when there is no such process, or it is not ours to look at.
 * @throws when we could not look, as without a free descriptor: whoever took
 *   that for an answer would take the living for dead.
 */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (unreadable.includes(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}

const unreadable = ['ENOENT', 'ESRCH', 'ENOTDIR', 'EACCES', 'EPERM'];
