import { execFile } from 'node:child_process';
import type { StopReport, StopTarget } from '../../core/runs/ports.ts';
import { claimOf, hasExited, requestStop } from '../../core/runs/run-files.ts';

/**
 * Windows has no POSIX shell, no /proc and no `ps`. This code is untested: it
 * identifies a process by its pid alone, and `taskkill` finds descendants.
 */
export const isWindows = process.platform === 'win32';

/** True while any process has this pid. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Ends the agent's tree; the supervisor survives and records the end. */
export function killWindowsTree(target: StopTarget): Promise<StopReport> {
  const { directory, place, request } = target;
  const isOver = hasExited(directory);
  if (request && !isOver) requestStop(directory, request);
  const agents = isOver ? [] : (claimOf(directory, place)?.watchdogs ?? []);
  return Promise.all(agents.map(taskkill)).then(() => ({
    survivors: agents.filter(isThere)
  }));
}

function taskkill(pid: number): Promise<void> {
  return new Promise((resolve) => {
    execFile('taskkill', ['/PID', String(pid), '/T', '/F'], () => resolve());
  });
}
