import { execFileSync } from 'node:child_process';
import { chownSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { needing } from './needs.ts';
import type { TempWorkspace } from './temp-workspace.ts';

/** `test`, where a limit can be set for a process that runs. */
export const testLimited = needing(
  'prlimit',
  process.platform === 'linux' && locate('prlimit') !== undefined
);

/** `test`, where a program can be run as another user: root on Linux. */
export const testAsOther = needing(
  'right to run a program as another user',
  process.getuid?.() === 0 &&
    ['prlimit', 'setpriv'].every((name) => locate(name))
);

/** No user has this number: what is counted per user is ours alone. */
const otherUser = 61_234;

/** Runs a program as that user, with our files still readable. */
export const asOther = [
  ...['setpriv', '--reuid', String(otherUser), '--clear-groups'],
  ...['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override']
];

export function giveToOther({ path, home, bin }: TempWorkspace): void {
  for (const directory of [join(path, '..'), path, home, bin])
    chownSync(directory, otherUser, otherUser);
}

/** How many files a process has open. */
export function filesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Lets a running process open so many files more. */
export function limitFiles(pid: number, more: number): void {
  const used = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let limit = 0;
  for (let left = more; used.has(limit) || left > 0; limit += 1)
    if (!used.has(limit)) left -= 1;
  setLimit(pid, 'nofile', limit);
}

/** Lets the other user start so many processes and threads more. */
export function limitProcesses(pid: number, more: number): void {
  setLimit(pid, 'nproc', threadsOfOther() + more);
}

/** Takes the limit away, as far as may be. */
export function liftLimit(pid: number, name: Limit): void {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  const line = name === 'nofile' ? 'Max open files' : 'Max processes';
  const [, hard = ''] =
    new RegExp(`^${line} +\\w+ +(\\w+)`, 'm').exec(limits) ?? [];
  setLimit(pid, name, hard);
}

type Limit = 'nofile' | 'nproc';

/** The hard limit stays: not everybody may raise it again. */
function setLimit(pid: number, name: Limit, value: number | string): void {
  const limit = `--${name}=${value}:`;
  // Only itself, in a container that keeps root from more.
  const [command = '', ...args] = [
    ...(name === 'nproc' ? asOther : []),
    ...['prlimit', '--pid', String(pid), limit]
  ];
  execFileSync(command, args, { stdio: 'pipe' });
}

function threadsOfOther(): number {
  let count = 0;
  for (const name of readdirSync('/proc'))
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      if (!status.includes(`\nUid:\t${otherUser}\t`)) continue;
      count += Number(/^Threads:\t(\d+)$/m.exec(status)?.[1] ?? 0);
    } catch {
      // No process, or none any more.
    }
  return count;
}
