import { stripVTControlCharacters } from 'node:util';
import { terminalLine } from '../../core/text.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import type { Snapshot } from '../../interfaces/board/watcher.ts';
import { colorsFor } from '../output/output.ts';
import { shorten, when, widthOf } from '../output/text.ts';
import { agentLines, fromOf, secondLine } from './agent-columns.ts';
import type { Size } from './screen/terminal.ts';
import { summaryOf } from './summary.ts';
import { moved, windowOf } from './text-pager.ts';

/** Summary, headings, and two lines about the selected agent. */
const otherLines = 4;

/** The columns before the second line of an agent. */
const indent = ' '.repeat(12);

/** All agents, each on one line or two; one is selected. */
export class AgentList {
  #snapshot: Snapshot | undefined;
  #readAt = 0;
  #selected: string | undefined;
  /** An agent that is selected as soon as it is there. */
  #wanted: string | undefined;
  #top = 0;
  /** The number of agents that the screen shows. */
  #page = 1;
  #filter = '';
  isBySquad = false;

  /** The selection follows its agent when the order changes. */
  show(snapshot: Snapshot): void {
    const index = this.#indexOfSelected(this.#rows());
    this.#snapshot = snapshot;
    this.#readAt = performance.now();
    const rows = this.#rows();
    if (rows.some(({ id }) => id === this.#wanted)) {
      this.#selected = this.#wanted;
      this.#wanted = undefined;
    }
    if (this.#indexOfSelected(rows) < 0) this.#select(rows, index);
  }

  /** Selects an agent that has just started, when it is read. */
  selectNew(id: string): void {
    this.#wanted = id;
  }

  find(id: string): WatchedAgent | undefined {
    return this.#snapshot?.agents.find((agent) => agent.id === id);
  }

  get selected(): WatchedAgent | undefined {
    const rows = this.#rows();
    return rows[this.#indexOfSelected(rows)];
  }

  get filter(): string {
    return this.#filter;
  }

  set filter(words: string) {
    this.#filter = words;
    const rows = this.#rows();
    if (this.#indexOfSelected(rows) < 0) this.#select(rows, 0);
  }

  /** @returns whether the key moves the selection */
  onKey(key: string): boolean {
    const rows = this.#rows();
    const next = moved(key, this.#indexOfSelected(rows), this.#page);
    if (next === undefined) return false;
    this.#select(rows, next);
    return true;
  }

  render(size: Size): string[] {
    const snapshot = this.#snapshot;
    if (!snapshot) return ['Looking …'];
    const { bold } = colorsFor(process.stdout);
    const { columns } = size;
    const head = bold(shorten(summaryOf(snapshot), columns - 1));
    if (snapshot.agents.length === 0)
      return [head, '', ...(snapshot.isUnused ? nothingYet : [noneRunning])];
    const agents = this.#rows();
    if (agents.length === 0)
      return [head, '', `No agent has "${this.#filter}". Esc shows all.`];
    const room = Math.max(1, size.rows - otherLines);
    const index = this.#indexOfSelected(agents);
    const { headings, lines } = this.#lines(agents, columns);
    this.#top = topFor(lines, index, this.#top, room);
    const shown = lines.slice(this.#top, this.#top + room);
    this.#page = Math.max(1, shown.filter(({ isFirst }) => isFirst).length);
    const blanks = Array.from({ length: room - shown.length }, () => '');
    const below = agents[index];
    return [
      head,
      headings,
      ...shown.map(({ text, isFirst, row }) =>
        isFirst && row === index ? selectedLine(text, columns) : text
      ),
      ...blanks,
      ...(below ? about(below, columns) : [])
    ];
  }

  #lines(agents: WatchedAgent[], columns: number) {
    const seconds = (performance.now() - this.#readAt) / 1000;
    // The mark of the selected line takes two columns. The last column of the
    // terminal stays free: some terminals clear it after a line.
    const [headings = '', ...first] = agentLines(agents, seconds, columns - 3);
    const lines = agents.flatMap((agent, row): Line[] => {
      const room = Math.max(1, columns - 1 - indent.length);
      const second = secondLine(agent, seconds, room);
      return [
        { row, isFirst: true, text: `  ${first[row]}` },
        ...(second === undefined
          ? []
          : [{ row, isFirst: false, text: `${indent}${second}` }])
      ];
    });
    return { headings: `  ${headings}`, lines };
  }

  #indexOfSelected(rows: WatchedAgent[]): number {
    return rows.findIndex(({ id }) => id === this.#selected);
  }

  /** Selects the row at an index, or the nearest one. */
  #select(rows: WatchedAgent[], index: number): void {
    const last = rows.length - 1;
    this.#selected = rows[Math.min(Math.max(0, index), last)]?.id;
  }

  #rows(): WatchedAgent[] {
    const wanted = this.#filter.toLowerCase();
    const all = this.#snapshot?.agents ?? [];
    const shown = all.filter((agent) =>
      wordsOf(agent).some((text) => text?.toLowerCase().includes(wanted))
    );
    return this.isBySquad ? bySquad(shown) : shown;
  }
}

/** A line of the list. */
interface Line {
  /** The index of its agent. */
  row: number;
  isFirst: boolean;
  text: string;
}

/** The first line to show, so that all lines of a row are visible. */
function topFor(
  lines: Line[],
  row: number,
  before: number,
  room: number
): number {
  const of = (line: Line) => line.row === row;
  const last = windowOf(lines.findLastIndex(of), before, room, lines.length);
  const top = windowOf(lines.findIndex(of), last, room, lines.length);
  // A second line at the top would seem to belong to no agent.
  return lines[top]?.isFirst === false ? top + 1 : top;
}

/** Members of a squad follow the first of them. */
function bySquad(agents: WatchedAgent[]): WatchedAgent[] {
  const groups = new Map<string, WatchedAgent[]>();
  for (const agent of agents) {
    const key = agent.squad?.id ?? agent.id;
    groups.set(key, [...(groups.get(key) ?? []), agent]);
  }
  return [...groups.values()].flat();
}

/** The texts that a filter searches. */
function wordsOf(agent: WatchedAgent): (string | undefined)[] {
  const { id, engine, model, state, doing, task, squad } = agent;
  return [id, engine, model, state, doing, task, squad?.name, fromOf(agent)];
}

const nothingYet = [
  'There are no agents in this workspace yet. Start one in another terminal:',
  '',
  '  troupe run claude "explain this repository"',
  '',
  'or ask a client that troupe is set up in (troupe init) to delegate something.'
];

const noneRunning = 'No agent is running. --limit shows those that ended.';

function selectedLine(line: string, columns: number): string {
  const { inverse } = colorsFor(process.stdout);
  const text = `> ${stripVTControlCharacters(line).slice(2)}`;
  const rest = ' '.repeat(Math.max(0, columns - 1 - widthOf(text)));
  return inverse(`${text}${rest}`);
}

/** Details that do not fit into the agent's line, and its whole task. */
function about(agent: WatchedAgent, columns: number): string[] {
  const { dim } = colorsFor(process.stdout);
  const { of, id, engine, model, task, endedAt, squad, client } = agent;
  const { label, access } = isWorker(of)
    ? { label: engine, access: of.meta.access }
    : of.record;
  const from = fromOf(agent);
  const through = client === undefined || from === client ? '' : ` (${client})`;
  const facts = [
    `${label} ${id}`,
    ...(from === '' ? [] : [`from ${from}${through}`]),
    ...(squad ? [squad.name] : []),
    ...(endedAt === undefined ? [] : [`ended ${when(endedAt)}`]),
    model ?? 'default model',
    `access ${access}`
  ];
  return [facts.join(', '), task].map((line) =>
    dim(shorten(terminalLine(line), columns - 1))
  );
}
