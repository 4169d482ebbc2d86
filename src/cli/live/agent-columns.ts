import { colorsFor, statusColor } from '../output.ts';
import type { Cell, Column } from '../table.ts';
import { dollars, shortDuration, when } from '../text.ts';
import type { DayTotal } from './day-sum.ts';
import { countsOf, type WatchedAgent } from './watched-agent.ts';
import type { Sight } from './watcher.ts';

export const agentColumns: Column[] = [
  { heading: 'ID' },
  { heading: 'STATE' },
  { heading: 'ENGINE', least: 12 },
  { heading: 'TIME', align: 'right' },
  { heading: 'COST', align: 'right', goes: 2 },
  { heading: 'LINES', goes: 1 },
  { heading: 'ENDED', goes: 0 },
  { heading: 'DOING', least: 12 }
];

/** `seconds` have passed since somebody looked; a cell has `room` at most. */
export function agentRow(
  agent: WatchedAgent,
  seconds = 0,
  room = Number.POSITIVE_INFINITY
): Cell[] {
  const { id, state, engine, model, costUsd, changed } = agent;
  const doing = agent.doing.slice(0, room);
  const colors = colorsFor(process.stdout);
  const { endedAt, isActive } = agent;
  const age = agent.seconds + (isActive ? seconds : 0);
  return [
    id,
    { text: state, color: statusColor(colors, state) },
    model === undefined ? engine : `${engine} ${model}`,
    // A tenth that changes once a second tells nothing.
    shortDuration(age).replace(isActive ? /\.\d/ : '', ''),
    dollars(costUsd ?? null) || '-',
    changed ? `+${changed.added} -${changed.removed}` : '-',
    endedAt === undefined ? '-' : when(endedAt),
    doing
  ];
}

/** `3 running, 2 workers; today (UTC) 12 ended, 1 of them not well, $0.31`. */
export function summaryOf({ agents, today }: Sight): string {
  const { ended, notCompleted } = today;
  const bad = notCompleted > 0 ? `, ${notCompleted} of them not well` : '';
  const total = ended === 0 ? 'none ended' : `${ended} ended${bad}`;
  const cost = ended === 0 ? '' : `, cost ${costOf(today)}`;
  return `${countsOf(agents)}; today (UTC) ${total}${cost}`;
}

function costOf({ costUsd, costsUnknown }: DayTotal): string {
  if (costUsd === undefined) return 'unknown';
  const sum = dollars(costUsd);
  return costsUnknown === 0 ? sum : `${sum} + ${costsUnknown} unknown`;
}
