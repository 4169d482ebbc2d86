import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import {
  isSameProcess,
  type ProcessIdentity
} from '../../core/processes/process-identity.ts';
import type {
  Ancestor,
  Processes,
  StopReport,
  StopTarget
} from '../../core/runs/ports.ts';
import { claimOf, hasExited } from '../../core/runs/run-files.ts';
import { withTimeout } from '../../core/timing.ts';
import { isOwnTmuxInUse, removeOwnTmux } from './agent-tmux.ts';
import { ApiHosts, isHosted } from './api-hosts.ts';
import { killTree } from './kill-tree.ts';
import { locate } from './locate.ts';
import {
  hasProc,
  type ProcessEntry,
  processEntry,
  processEnvironments,
  processTable,
  thisNamespace,
  thisProcess
} from './process-table.ts';
import { supervise } from './supervise.ts';
import { isWindows, killWindowsTree } from './windows.ts';
import { forksSoFar, hasLeftNothing } from './young-processes.ts';

/**
 * Implements the core's process port for this machine.
 * @param programs the folder of the reaper, the API agent and the Windows
 *   supervisor
 */
export function createProcesses(programs: string): Processes {
  const self = thisProcess();
  const reaper = join(programs, 'reaper.cjs');
  /** Our supervisors by folder, because a claim may be removed. */
  const supervisors = new Map<string, OwnSupervisor>();
  /** By folder: the forks before each start, see `hasLeftNothing`. */
  const forks = new Map<string, number>();
  const apiHosts = new ApiHosts();
  return {
    self,
    apiAgent: {
      command: process.execPath,
      args: [join(programs, 'api-agent.js')]
    },
    locate: (command) => locate(command),
    liveness: (identity) => liveness(identity, self),
    ancestors: () => ancestorsOf(),
    launch: (request) => {
      const { directory, outputLimitBytes } = request;
      noteForks(forks, directory);
      const host = isHosted(request) ? apiHosts.hostOf(request) : undefined;
      const { ended, pid, stdin } = supervise(request, programs);
      if (stdin instanceof Socket)
        host?.take({ directory, outputLimitBytes }, stdin);
      const forget = (hasBegun: boolean) => {
        supervisors.delete(directory);
        // No `stop` has to follow a start that was refused.
        if (!hasBegun) removeOwnTmux(directory);
      };
      const over = ended.then(forget, () => forget(false));
      if (pid !== undefined) supervisors.set(directory, { pid, over });
      return { ended };
    },
    stop: isWindows
      ? killWindowsTree
      : async (target) => {
          const { directory } = target;
          const supervisor = supervisors.get(directory);
          if (await isKnownGone(target, supervisor, forks.get(directory))) {
            forks.delete(directory);
            removeOwnTmux(directory);
            return { survivors: [] };
          }
          return stop(target, supervisor?.pid, reaper);
        },
    stopAlone: (directory) => {
      // On Windows, `stop` has ended the agent by then.
      if (!isWindows) startReaper(reaper, directory, 'canceled');
    }
  };
}

/** Bounds the notes of runs that another server finalizes. */
const mostNoted = 2000;

function noteForks(forks: Map<string, number>, directory: string): void {
  const now = forksSoFar();
  const [oldest] = forks.keys();
  if (forks.size >= mostNoted && oldest !== undefined) forks.delete(oldest);
  if (now !== undefined) forks.set(directory, now);
}

interface OwnSupervisor {
  pid: number;
  /** Resolves when it has ended. */
  over: Promise<void>;
}

/** A supervisor that has written the exit code ends within this time. */
const endingMs = 1000;

/** True for an agent that has exited and certainly left nothing behind. */
async function isKnownGone(
  { directory, place, justEnded, withNested, request }: StopTarget,
  supervisor: OwnSupervisor | undefined,
  forksBefore: number | undefined
): Promise<boolean> {
  if (!justEnded || withNested || request || forksBefore === undefined)
    return false;
  const claimed = claimOf(directory, place)?.supervisor;
  if (claimed?.place !== thisNamespace() || !hasExited(directory)) return false;
  if (supervisor) await withTimeout(supervisor.over, endingMs, undefined);
  return hasLeftNothing({ pid: claimed.pid, directory, forksBefore });
}

/** Leftovers that survive SIGTERM this long count as ignoring it. */
const resistMs = 500;

async function stop(
  target: StopTarget,
  supervisor: number | undefined,
  reaper: string
): Promise<StopReport> {
  const { directory } = target;
  // The reaper ends resisting leftovers even if this process is killed.
  const resisted = setTimeout(() => {
    if (hasExited(directory)) startReaper(reaper, directory, 'left');
  }, resistMs);
  const report = await killTree(target, supervisor).finally(() =>
    clearTimeout(resisted)
  );
  const isOver =
    report.survivors.length === 0 &&
    (hasExited(directory) || wasSupervisorKilled(target));
  if (isOver && !isOwnTmuxInUse(directory)) removeOwnTmux(directory);
  return report;
}

/** Whether no supervisor is left that could write the exit code. */
function wasSupervisorKilled({ directory, place }: StopTarget): boolean {
  const supervisor = claimOf(directory, place)?.supervisor;
  return (
    supervisor !== undefined && liveness(supervisor, thisProcess()) === 'dead'
  );
}

function startReaper(
  reaper: string,
  directory: string,
  why: 'canceled' | 'left'
): void {
  const child = spawn(process.execPath, [reaper, directory, why], {
    detached: true,
    stdio: 'ignore'
  });
  child.on('error', () => undefined);
  child.unref();
}

/** The part of the port that a lock needs. */
export function processLiveness(): Pick<Processes, 'self' | 'liveness'> {
  const self = thisProcess();
  return { self, liveness: (identity) => liveness(identity, self) };
}

export function liveness(
  identity: ProcessIdentity,
  self: ProcessIdentity
): 'alive' | 'dead' | 'unknown' {
  if (identity.place !== self.place)
    return isEarlierBoot(identity, self) ? 'dead' : 'unknown';
  if (self.start !== '' && isSameProcess(identity, self)) return 'alive';
  try {
    const entry = processEntry(identity.pid);
    if (!entry || entry.zombie) return 'dead';
    if (entry.start === identity.start) return 'alive';
    // Without a start time, it may be any process with that pid.
    return identity.start === '' ? 'unknown' : 'dead';
  } catch {
    return 'unknown';
  }
}

/** Same host and namespace but another boot: the reboot ended the process. */
function isEarlierBoot(a: ProcessIdentity, b: ProcessIdentity): boolean {
  const [hostA, bootA, spaceA] = a.place.split(' ');
  const [hostB, bootB, spaceB] = b.place.split(' ');
  return hostA === hostB && spaceA === spaceB && bootA !== bootB;
}

/**
 * The ancestors of a process, nearest first, each followed by the leaders of
 * its group and its session, which remain when a parent has ended.
 * @returns none if the process table cannot be read
 */
export function ancestorsOf(
  pid = process.pid,
  useProc = hasProc()
): Ancestor[] {
  if (isWindows) return [];
  try {
    const found = above(pid, finder(useProc));
    const environments = processEnvironments([...found.keys()], useProc);
    const place = thisNamespace();
    return [...found].map(([pid, entry]) => ({
      identity: { pid, start: entry?.start ?? '', place },
      marks: marksIn(environments.get(pid)?.split('\0') ?? [])
    }));
  } catch {
    return [];
  }
}

type Find = (pid: number) => ProcessEntry | undefined;

/** Without /proc, reads the whole table once: each lookup would run `ps`. */
function finder(useProc: boolean): Find {
  if (useProc) return (pid) => processEntry(pid, true);
  const table = new Map(processTable(false).map((entry) => [entry.pid, entry]));
  return (pid) => table.get(pid);
}

/** Includes ended processes: a session outlives its leader. */
function above(self: number, find: Find) {
  const found = new Map<number, ProcessEntry | undefined>();
  const passed = new Set<number>();
  let at = find(self);
  while (at && !passed.has(at.pid)) {
    passed.add(at.pid);
    // Process 1 is above every process.
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
