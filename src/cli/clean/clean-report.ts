import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { endedWorkers } from '../../core/retention/ended-workers.ts';
import { bytesOf, holds, type Resident } from '../../core/retention/select.ts';
import { bytesBelow, namesIn } from '../../core/state/files/directories.ts';
import type { Host } from '../../host/host.ts';
import type { JsonFlag } from '../commands/command-options.ts';
import type { DiskDocument } from '../json/record-documents.ts';
import { print, printJson, report } from '../output/output.ts';
import { type Cell, type Column, table } from '../output/table.ts';
import { amount, counted, when } from '../output/text.ts';
import {
  type CleanPlan,
  leftoverCount,
  reasonOf,
  type Stay
} from './clean-plan.ts';

/** The limit on a terminal; a pipe gets all rows. */
const mostRows = 20;
/** How many agents are listed with the reason why they stay. */
const mostReasons = 10;

const columns: Column[] = [
  { heading: 'ID' },
  { heading: 'ENGINE', minWidth: 8, dropOrder: 1 },
  { heading: 'ENDED', dropOrder: 2 },
  { heading: 'SIZE', align: 'right' },
  { heading: 'TASK', minWidth: 16 }
];

/** A table of the agents and workers to remove; '' when there are none. */
export function planTable({ agents, workers }: CleanPlan): string {
  const rows: Cell[][] = [
    ...agents.map(({ agentId, engine, isRead, bytes, completedAt, task }) => [
      agentId,
      engine,
      completedAt ? when(completedAt) : '-',
      amount(bytes),
      isRead ? task : `(unread) ${task}`
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

const stayLabels: Record<Stay, string> = {
  at_work: 'at work',
  foreign: 'that troupe did not make',
  summons: 'awaited by a council',
  squad: 'with a running squad',
  session: 'whose session others continue',
  worktree: 'with a worktree',
  unread: 'unread (name them to remove them)',
  retained: 'that the retention keeps'
};

/** Prints on stderr how many agents stay, and why. */
export function reportKept(plan: CleanPlan): void {
  const counts = countsOf(plan);
  const parts = Object.entries(stayLabels).flatMap(([why, words]) => {
    const number = counts.get(why);
    return number ? [`${number} ${words}`] : [];
  });
  if (parts.length > 0) report(`stay: ${parts.join(', ')}`);
  for (const { agent, why } of actionable(plan).slice(0, mostReasons))
    report(`${agent.agentId} stays: ${reasonOf(why, agent.because)}`);
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
    held: actionable(plan).map(({ agent, why }) => ({
      agent_id: agent.agentId,
      why,
      about: agent.because ?? null
    })),
    problems
  };
}

/** Agents that stay for a reason that the user can remove. */
function actionable({ stays }: CleanPlan) {
  return stays.flatMap(({ agent, why }) =>
    why === 'worktree' || why === 'foreign' ? [{ agent, why }] : []
  );
}

function countsOf({ stays }: CleanPlan): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { why } of stays) counts.set(why, (counts.get(why) ?? 0) + 1);
  return counts;
}

interface Share {
  count: number;
  bytes: number;
}

/** Prints the disk usage of agents, and how to reduce it. */
export async function showDisk(
  host: Host,
  residents: Resident[],
  { json }: JsonFlag
): Promise<void> {
  const { config, store, processes } = host;
  const part = (isIn: (one: Resident) => boolean) =>
    shareOf(residents.filter(isIn));
  const workers = endedWorkers(host.paths, processes);
  const diffs = join(store.root, 'diffs');
  const shares = {
    at_work: part(({ hold }) => hold === 'at_work'),
    read: part(({ hold }) => hold === undefined),
    unread: part(({ hold }) => hold === 'unread'),
    held: part(
      ({ hold }) => hold !== undefined && !['at_work', 'unread'].includes(hold)
    ),
    agents: shareOf(residents),
    diffs: {
      count: namesIn(diffs).filter((name) => name.endsWith('.diff')).length,
      bytes: bytesBelow(diffs)
    },
    workers: {
      count: workers.length,
      bytes: workers.reduce((sum, { bytes }) => sum + bytes, 0)
    }
  };
  const limit = config.diskLimitMegabytes * 1024 * 1024;
  if (json) {
    const disk_limit_bytes = limit === 0 ? null : limit;
    await printJson<DiskDocument>({ ...shares, disk_limit_bytes });
    return;
  }
  const row = (label: string, { count, bytes }: Share) => [
    amount(bytes),
    `${count}`,
    label
  ];
  await print(
    table(
      [
        { heading: 'SIZE', align: 'right', padTo: 8 },
        { heading: 'COUNT', align: 'right', padTo: 6 },
        { heading: 'WHAT', minWidth: 20 }
      ],
      [
        row('agents at work', shares.at_work),
        row('agents that ended and were read', shares.read),
        row('agents that ended and are unread', shares.unread),
        row('agents that others need, or with a worktree', shares.held),
        row(totalOf(limit), shares.agents),
        row('patches of agents that were removed', shares.diffs),
        row('workers that have ended', shares.workers)
      ]
    )
  );
  report('nothing was removed; choose what to remove:');
  for (const line of ways) report(`  ${line}`);
}

const ways = [
  'troupe clean --older-than 30d   what was read and ended before that',
  'troupe clean --keep 20          what was read, except the newest 20',
  'troupe clean --max-size 2GB     the oldest that was read, down to 2 GB',
  'troupe clean ID                 one agent, even if it is unread'
];

function totalOf(limit: number): string {
  return limit === 0
    ? 'all agents (there is no diskLimitMegabytes)'
    : `all agents, of at most ${amount(limit)} (diskLimitMegabytes)`;
}

function shareOf(residents: Resident[]): Share {
  return { count: residents.length, bytes: bytesOf(residents) };
}

/** Asks on the terminal; true for `y` and `yes`. */
export async function ask(question: string): Promise<boolean> {
  const line = createInterface({
    input: process.stdin,
    output: process.stderr
  });
  let isAnswered = false;
  // Ctrl-D closes the input and counts as no.
  const closed = new Promise<string>((resolve) =>
    line.once('close', () => {
      // The next message needs its own line.
      if (!isAnswered) process.stderr.write('\n');
      resolve('');
    })
  );
  const answer = await Promise.race([
    line.question(`${question} [y/N] `).then((text) => {
      isAnswered = true;
      return text;
    }),
    closed
  ]);
  line.close();
  return /^y(es)?$/i.test(answer.trim());
}
