import { readFileSync } from 'node:fs';

/** The command line of a process; empty once it has ended. */
export function commandOf(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
