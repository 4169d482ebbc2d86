import { setTimeout as delay } from 'node:timers/promises';
import { claimOf } from '../../core/runs/run-files.ts';
import { SharedTmux } from '../child-process/agent-tmux.ts';
import {
  findAgentTree,
  lookTwice,
  nextSnapshot
} from '../child-process/agent-tree.ts';
import { signal } from '../child-process/kill-tree.ts';
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

type Programs = Map<number, ProcessEntry>;

/**
 * The program of a run, which a shell below its supervisor runs. Empty when
 * there is none, or no supervisor.
 */
export async function programOf(directory: string): Promise<Programs> {
  const { children } = await partsOf(directory, new Map());
  return new Map(children.map((one) => [one.pid, one]));
}

/**
 * Ends the program of a run, and all that it started: TERM for the program
 * alone, which may close its session, and then for what it leaves; KILL for
 * what remains. Each process gets one TERM. Spared are the supervisor, the
 * shell that runs the program, what that shell runs next, and agents that the
 * program started.
 * @returns whether the program was still there
 */
export async function endProgram(
  directory: string,
  programs: Programs,
  given: Partial<EndTimes> = {}
): Promise<boolean> {
  const { graceMs, restMs, mostMs } = { ...defaultTimes, ...given };
  const began = performance.now();
  const known = new Map<number, ProcessEntry>();
  const terminated = new Set<number>();
  const tmux = new SharedTmux(directory);
  let wasThere: boolean | undefined;
  let endedAt: number | undefined;
  const inspect = async (): Promise<ProcessEntry[]> => {
    const parts = await partsOf(directory, known);
    return tmux.without(
      parts.members.filter((one) => !isSpared(one, parts, programs)),
      parts.entries
    );
  };
  for (;;) {
    const members = await lookTwice(inspect, isNone, pollMs);
    const alive = members.filter((one) => isOneOf(one, programs));
    wasThere ??= alive.length > 0;
    const now = performance.now();
    if (isNone(members) || now - began > mostMs) return wasThere;
    for (const member of members) known.set(member.pid, member);
    if (alive.length === 0) endedAt ??= now;
    for (const { pid } of endedAt === undefined ? alive : members)
      if (!terminated.has(pid)) {
        terminated.add(pid);
        signal(pid, 'SIGTERM');
        // A stopped process handles no signal.
        signal(pid, 'SIGCONT');
      }
    const isLate =
      now - began > graceMs ||
      (endedAt !== undefined && now - endedAt > restMs);
    if (isLate) for (const { pid } of members) signal(pid, 'SIGKILL');
    await delay(pollMs);
  }
}

function isNone(members: ProcessEntry[]): boolean {
  return members.length === 0;
}

interface Parts {
  entries: ProcessEntry[];
  members: ProcessEntry[];
  /** The shell below the supervisor, and what it runs. */
  shells: Set<number>;
  children: ProcessEntry[];
}

async function partsOf(directory: string, known: Programs): Promise<Parts> {
  const target = { directory, place: thisNamespace() };
  const claim = claimOf(directory, target.place);
  const snapshot = await nextSnapshot();
  const { entries } = snapshot;
  const tree = findAgentTree(target, claim, known, snapshot);
  const [supervisor] = tree.spared;
  // Without it, the run is over, and its server ends what is left.
  const members = supervisor === undefined ? [] : tree.members;
  const shells = new Set(
    members.filter(({ parent }) => parent === supervisor).map(({ pid }) => pid)
  );
  const children = members.filter(({ parent }) => shells.has(parent));
  return { entries, members, shells, children };
}

/** The shell, and the process that takes the place of the program. */
function isSpared(
  { pid, parent }: ProcessEntry,
  { shells, children }: Parts,
  programs: Programs
): boolean {
  const next = children.filter((one) => !isOneOf(one, programs));
  return (
    shells.has(pid) || next.some((one) => one.pid === pid || one.pid === parent)
  );
}

function isOneOf({ pid, start }: ProcessEntry, programs: Programs): boolean {
  return programs.get(pid)?.start === start;
}
