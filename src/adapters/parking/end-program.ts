import { setTimeout as delay } from 'node:timers/promises';
import { claimOf } from '../../core/runs/run-files.ts';
import { SharedTmux } from '../child-process/agent-tmux.ts';
import { findAgentTree, nextSnapshot } from '../child-process/agent-tree.ts';
import {
  type ProcessEntry,
  thisNamespace
} from '../child-process/process-table.ts';

interface EndTimes {
  /** Between TERM and KILL. */
  graceMs: number;
  /** From the end of the program to TERM and KILL of the rest. */
  restMs: number;
  /** Until processes count as unable to end. */
  mostMs: number;
}

const defaultTimes: EndTimes = { graceMs: 3000, restMs: 500, mostMs: 10_000 };
const pollMs = 50;

/**
 * Ends the program of a run, and all that it started: TERM for the program
 * alone, which may close its session, and then for what it leaves; KILL for
 * what remains. Each process gets one TERM. Spared are the supervisor, the
 * shell that runs the program, what that shell runs next, and agents that the
 * program started.
 * @param spared the process that has taken the program's place already
 */
export async function endProgram(
  directory: string,
  spared: number | undefined,
  given: Partial<EndTimes> = {}
): Promise<void> {
  const { graceMs, restMs, mostMs } = { ...defaultTimes, ...given };
  const began = performance.now();
  const known = new Map<number, ProcessEntry>();
  const terminated = new Set<number>();
  const tmux = new SharedTmux(directory);
  const target = { directory, place: thisNamespace() };
  let programs: Set<number> | undefined;
  let endedAt: number | undefined;
  for (;;) {
    const claim = claimOf(directory, target.place);
    const snapshot = await nextSnapshot();
    const tree = findAgentTree(target, claim, known, snapshot);
    const [supervisor] = tree.spared;
    const isShell = ({ parent }: ProcessEntry) => parent === supervisor;
    const shells = new Set(tree.members.filter(isShell).map(({ pid }) => pid));
    const children = tree.members.filter(({ parent }) => shells.has(parent));
    programs ??= new Set(
      children.map(({ pid }) => pid).filter((pid) => pid !== spared)
    );
    // The shell has ended the wait for the program, and runs another one.
    const next = new Set(
      children.map(({ pid }) => pid).filter((pid) => !programs?.has(pid))
    );
    const isSpared = ({ pid, parent }: ProcessEntry) =>
      shells.has(pid) || next.has(pid) || next.has(parent);
    const members = await tmux.without(
      tree.members.filter((one) => !isSpared(one)),
      snapshot.entries
    );
    if (members.length === 0) return;
    for (const member of members) known.set(member.pid, member);
    const now = performance.now();
    const alive = members.filter(({ pid }) => programs?.has(pid));
    if (alive.length === 0) endedAt ??= now;
    const isLate =
      now - began > graceMs ||
      (endedAt !== undefined && now - endedAt > restMs);
    for (const { pid } of endedAt === undefined ? alive : members)
      if (!terminated.has(pid)) {
        terminated.add(pid);
        signal(pid, 'SIGTERM');
        // A stopped process gets no signal.
        signal(pid, 'SIGCONT');
      }
    if (isLate) for (const { pid } of members) signal(pid, 'SIGKILL');
    if (now - began > mostMs) return;
    await delay(pollMs);
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended between the snapshot and the signal.
  }
}
