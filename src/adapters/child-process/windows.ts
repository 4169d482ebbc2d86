import { execFile } from 'node:child_process';
import type { StopReport, StopTarget } from '../../core/runs/ports.ts';
import { claimOf, hasExited } from '../../core/runs/run-files.ts';

/**
 * Where there is no POSIX shell, no /proc and no `ps`. Written with care, not
 * tested: a process is known by its number alone, and `taskkill` finds what
 * descends from it.
 */
export const isWindows = process.platform === 'win32';

/** True while a process has this number. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Ends what the supervisor started; the supervisor records the end. */
export function killWindowsTree(target: StopTarget): Promise<StopReport> {
  const agents = hasExited(target.directory)
    ? []
    : (claimOf(target.directory, target.place)?.watchdogs ?? []);
  return Promise.all(agents.map(taskkill)).then(() => ({
    survivors: agents.filter(isThere)
  }));
}

function taskkill(pid: number): Promise<void> {
  return new Promise((resolve) => {
    execFile('taskkill', ['/PID', String(pid), '/T', '/F'], () => resolve());
  });
}
