import { bytesOf } from '../core/retention/choose.ts';
import { holds } from '../core/retention/resident.ts';
import { amount } from './amounts.ts';
import {
  type CleanPlan,
  leftoverCount,
  reasonOf,
  type Stay
} from './clean-plan.ts';
import { tell } from './output.ts';
import { type Cell, type Column, table } from './table.ts';
import { counted, when } from './text.ts';

/** Rows shown on a terminal; a pipe has them all. */
const mostRows = 20;
/** Agents of which is told one by one why they stay. */
const mostReasons = 10;

const columns: Column[] = [
  { heading: 'ID' },
  { heading: 'ENGINE', least: 8, goes: 1 },
  { heading: 'ENDED', goes: 2 },
  { heading: 'SIZE', align: 'right' },
  { heading: 'TASK', least: 16 }
];

/** What goes, oldest first. Empty when nothing does. */
export function planTable({ agents, workers }: CleanPlan): string {
  const rows: Cell[][] = [
    ...agents.map(({ agentId, engine, isRead, bytes, completedAt, task }) => [
      agentId,
      engine,
      completedAt ? when(completedAt) : '-',
      amount(bytes),
      isRead ? task : `(read by nobody) ${task}`
    ]),
    ...workers.map(({ agentId, engine, endedMs, bytes, name }) => [
      agentId,
      engine,
      when(new Date(endedMs).toISOString()),
      amount(bytes),
      `(worker) ${name}`
    ])
  ];
  if (rows.length === 0) return '';
  const shown = process.stdout.isTTY ? rows.slice(0, mostRows) : rows;
  const more = rows.length - shown.length;
  const rest = more > 0 ? `… and ${more} more\n` : '';
  return `${table(columns, shown)}${rest}`;
}

/** `3 agents (36 KB), 1 worker (2.0 KB), 4 leftovers`. */
export function summaryOf(plan: CleanPlan): string {
  const { agents, workers, leftovers } = plan;
  const workerBytes = workers.reduce((sum, { bytes }) => sum + bytes, 0);
  const rest = leftoverCount(leftovers);
  const parts = [
    ...(agents.length > 0 || (workers.length === 0 && rest === 0)
      ? [`${counted(agents.length, 'agent')} (${amount(bytesOf(agents))})`]
      : []),
    ...(workers.length > 0
      ? [`${counted(workers.length, 'worker')} (${amount(workerBytes)})`]
      : []),
    ...(rest > 0 ? [counted(rest, 'leftover')] : [])
  ];
  return parts.join(', ');
}

const inShort: Record<Stay, string> = {
  at_work: 'at work',
  foreign: 'that troupe did not make',
  summons: 'awaited by a council',
  squad: 'with a squad at work',
  session: 'whose session others go on with',
  worktree: 'with a worktree',
  unread: 'read by nobody (name them to remove them)',
  retained: 'that the retention keeps'
};

/** How many stay and why; on stderr. */
export function tellKept(plan: CleanPlan): void {
  const counts = countsOf(plan);
  const parts = Object.entries(inShort).flatMap(([why, words]) => {
    const number = counts.get(why);
    return number ? [`${number} ${words}`] : [];
  });
  if (parts.length > 0) tell(`stay: ${parts.join(', ')}`);
  for (const { agent, why } of worthTelling(plan).slice(0, mostReasons))
    tell(`${agent.agentId} stays: ${reasonOf(why, agent.because)}`);
}

export function planJson(plan: CleanPlan, isDry: boolean) {
  const { agents, workers, residents, leftovers, problems } = plan;
  const counts = countsOf(plan);
  const { squads, sessions, marks, drafts, trash } = leftovers;
  return {
    dry_run: isDry,
    removed: agents.map(({ agentId, engine, completedAt, bytes, isRead }) => ({
      agent_id: agentId,
      agent_type: engine,
      completed_at: completedAt ?? null,
      bytes,
      read: isRead
    })),
    bytes: bytesOf(agents),
    bytes_left: bytesOf(residents) - bytesOf(agents),
    workers: workers.map(({ agentId, name, bytes }) => ({
      agent_id: agentId,
      name,
      bytes
    })),
    leftovers: {
      squads: squads.length,
      sessions: sessions.length,
      marks: marks.length,
      drafts,
      trash
    },
    stay: Object.fromEntries(
      [...holds, 'retained'].map((why) => [why, counts.get(why) ?? 0])
    ),
    held: worthTelling(plan).map(({ agent, why }) => ({
      agent_id: agent.agentId,
      why,
      about: agent.because ?? null
    })),
    problems
  };
}

/** What somebody can do something about. */
function worthTelling({ stays }: CleanPlan) {
  return stays.flatMap(({ agent, why }) =>
    why === 'worktree' || why === 'foreign' ? [{ agent, why }] : []
  );
}

function countsOf({ stays }: CleanPlan): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { why } of stays) counts.set(why, (counts.get(why) ?? 0) + 1);
  return counts;
}
