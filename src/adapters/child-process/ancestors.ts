import type { Ancestor } from '../../core/runs/ports.ts';
import {
  hasProc,
  type ProcessEntry,
  processEntry,
  processEnvironments,
  processTable,
  thisPlace
} from './process-table.ts';
import { isWindows } from './windows.ts';

/**
 * The processes that one descends from, nearest first, each followed by those
 * that lead its group and its session: these are there when the one that
 * started it has ended, and it was given to another parent.
 * @returns none where nothing can be said about processes
 */
export function ancestorsOf(
  pid = process.pid,
  useProc = hasProc()
): Ancestor[] {
  if (isWindows) return [];
  try {
    const found = above(pid, finder(useProc));
    const environments = processEnvironments([...found.keys()], useProc);
    const place = thisPlace();
    return [...found].map(([pid, entry]) => ({
      identity: { pid, start: entry?.start ?? '', place },
      marks: marksIn(environments.get(pid)?.split('\0') ?? [])
    }));
  } catch {
    return [];
  }
}

type Find = (pid: number) => ProcessEntry | undefined;

/** One look at all of them, where each look starts a program. */
function finder(useProc: boolean): Find {
  if (useProc) return (pid) => processEntry(pid, true);
  const table = new Map(processTable(false).map((entry) => [entry.pid, entry]));
  return (pid) => table.get(pid);
}

/** Those that are gone, too: a session outlives its leader. */
function above(self: number, find: Find) {
  const found = new Map<number, ProcessEntry | undefined>();
  const passed = new Set<number>();
  let at = find(self);
  while (at && !passed.has(at.pid)) {
    passed.add(at.pid);
    // The first process of a machine is above all, and says nothing.
    for (const pid of [at.pid, at.group, at.session])
      if (pid > 1 && pid !== self && !found.has(pid)) found.set(pid, find(pid));
    at = at.parent > 1 ? find(at.parent) : undefined;
  }
  return found;
}

function marksIn(lines: string[]): Ancestor['marks'] {
  const marked = (name: string) =>
    lines
      .find((line) => line.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .trim();
  return {
    agentId: marked('TROUPE_AGENT_ID'),
    directory: marked('TROUPE_AGENT_DIR'),
    depth: marked('TROUPE_DEPTH')
  };
}
