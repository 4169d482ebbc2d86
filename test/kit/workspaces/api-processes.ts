import { readFileSync } from 'node:fs';
import { processesIn } from './end-all-in.ts';
import type { TempWorkspace } from './temp-workspace.ts';

/** The shared hosts of a workspace's API agents, by pid. Needs /proc. */
export function apiHostsOf({ path }: TempWorkspace, engine = ''): number[] {
  const args = `/api-agent.js\0host\0${engine}`;
  return processesIn(path).filter((pid) => {
    const line = textIn(pid, 'cmdline');
    // The shell that starts a host has the same words, for a moment.
    return line.includes(args) && !line.startsWith('/bin/sh');
  });
}

/** Proportional memory: a shared page counts in parts. 0 once it has ended. */
export function proportionalBytes(pid: number): number {
  const [, kibibytes] =
    /^Pss:\s+(\d+) kB$/m.exec(textIn(pid, 'smaps_rollup')) ?? [];
  return Number(kibibytes ?? 0) * 1024;
}

/** Empty for a process that has ended. */
export function textIn(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
