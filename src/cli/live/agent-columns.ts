import { terminalLine } from '../../core/text.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import { colorsFor, statusColor } from '../output/output.ts';
import { alignedRows, type Cell, type Column, table } from '../output/table.ts';
import { dollars, shortDuration, shorten, when } from '../output/text.ts';

interface AgentColumn extends Column {
  /** @param seconds since the agent was read */
  cell: (agent: WatchedAgent, seconds: number) => Cell;
}

/** The width that the task keeps while other columns are left out. */
const minTask = 20;
const taskShare = 0.35;

/** The facts about an agent. The model is left out first. */
const factColumns: AgentColumn[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'STATE', minWidth: 9, cell: stateOf },
  { heading: 'ENGINE', minWidth: 6, cell: ({ engine }) => engine },
  { heading: 'MODEL', minWidth: 8, dropOrder: 0, cell: modelOf },
  { heading: 'TIME', align: 'right', dropOrder: 4, cell: ageOf },
  { heading: 'COST', align: 'right', dropOrder: 3, cell: costOf },
  { heading: 'LINES', dropOrder: 2, cell: linesOf },
  { heading: 'ENDED', dropOrder: 1, cell: endOf }
];

/** @param mostChars of a task, to measure no more than is shown */
function taskColumn(
  minWidth: number,
  mostChars = Number.POSITIVE_INFINITY
): AgentColumn {
  const cell = ({ task }: WatchedAgent) => task.slice(0, mostChars);
  return { heading: 'TASK', minWidth, cell };
}

/** One line for each agent below the headings, for a screen. */
export function agentLines(
  agents: WatchedAgent[],
  seconds: number,
  room: number
): string[] {
  const { dim } = colorsFor(process.stdout);
  const minWidth = Math.max(minTask, Math.floor(room * taskShare));
  // A column in which nothing is known gives its room to the task.
  const columns = [...factColumns, taskColumn(minWidth, room)].filter(
    ({ cell }) => agents.some((agent) => cell(agent, seconds) !== '-')
  );
  const headings = columns.map(
    ({ heading }): Cell => ({ text: heading, color: dim })
  );
  const rows = agents.map((agent) =>
    columns.map(({ cell }) => cell(agent, seconds))
  );
  return alignedRows(columns, [headings, ...rows], room).split('\n');
}

/** All facts about each agent in one table. */
export function agentTable(agents: WatchedAgent[]): string {
  const columns: AgentColumn[] = [
    ...factColumns,
    {
      ...{ heading: 'FROM', minWidth: 8, dropOrder: -1 },
      cell: (agent) => fromOf(agent) || '-'
    },
    {
      ...{ heading: 'SQUAD', minWidth: 8, dropOrder: -2 },
      cell: ({ squad }) => squad?.name ?? '-'
    },
    taskColumn(minTask),
    { heading: 'DOING', minWidth: 12, cell: ({ doing }) => doing ?? '-' }
  ];
  return table(
    columns,
    agents.map((agent) => columns.map(({ cell }) => cell(agent, 0)))
  );
}

/** Shorter silences are usual. */
const quietSeconds = 10;
const mostName = 24;
const between = ' · ';

/**
 * The second line of an agent: how long it has been silent, its client, its
 * squad, and its current activity or its error. Undefined for an agent that
 * needs none.
 */
export function secondLine(
  agent: WatchedAgent,
  seconds: number,
  room: number
): string | undefined {
  const { isActive, squad, doing, quietSeconds: quiet = 0 } = agent;
  if (!isActive && doing === undefined) return undefined;
  const { dim, yellow } = colorsFor(process.stdout);
  const silent = isActive && quiet + seconds >= quietSeconds;
  const head = silent ? `quiet ${shortDuration(quiet + seconds)}` : '';
  const facts = isActive
    ? [
        shorten(fromOf(agent), mostName),
        shorten(squad?.name ?? '', 2 * mostName)
      ]
    : [];
  const rest = [...facts, doing ?? 'no output yet'].filter(Boolean);
  const line = shorten(
    [...(silent ? [head] : []), ...rest].join(between),
    room
  );
  return `${yellow(line.slice(0, head.length))}${dim(line.slice(head.length))}`;
}

/** The agent that has started it, or else the client. */
export function fromOf({ of, client }: WatchedAgent): string {
  const parent = isWorker(of) ? null : of.record.parent;
  return parent === null ? (client ?? '') : `agent ${terminalLine(parent)}`;
}

function stateOf({ state }: WatchedAgent): Cell {
  return { text: state, color: statusColor(colorsFor(process.stdout), state) };
}

function modelOf({ model }: WatchedAgent): string {
  return model ?? '-';
}

function ageOf({ seconds, isActive }: WatchedAgent, since: number): string {
  if (!isActive) return shortDuration(seconds);
  // A time that is updated once a second has no tenths.
  return shortDuration(seconds + since).replace(/\.\d/, '');
}

function costOf({ costUsd }: WatchedAgent): string {
  return dollars(costUsd ?? null) || '-';
}

function linesOf({ changed }: WatchedAgent): string {
  if (!changed) return '-';
  const { added, removed, isShared } = changed;
  return `+${added} -${removed}${isShared ? ' shared' : ''}`;
}

function endOf({ endedAt }: WatchedAgent): string {
  return endedAt === undefined ? '-' : when(endedAt);
}
