import { stripVTControlCharacters } from 'node:util';
import { colorsFor } from '../output/output.ts';
import { alignedRows, type Cell } from '../output/table.ts';
import { shorten, terminalLine, when, widthOf } from '../output/text.ts';
import type { Size } from './screen/terminal.ts';
import { moved, windowOf } from './text-pager.ts';
import {
  agentColumns,
  agentRow,
  isWorker,
  type WatchedAgent
} from './watched-agent.ts';
import { type Snapshot, summaryOf } from './watcher.ts';

/** Summary, headings, and two lines about the selected agent. */
const otherLines = 4;

/** All agents, one on each line; one is selected. */
export class AgentList {
  #snapshot: Snapshot | undefined;
  #readAt = 0;
  #selected: string | undefined;
  #top = 0;
  #room = 1;
  #filter = '';

  /** The selection follows its agent when the order changes. */
  show(snapshot: Snapshot): void {
    const index = this.#indexOfSelected(this.#rows());
    this.#snapshot = snapshot;
    this.#readAt = performance.now();
    const rows = this.#rows();
    if (this.#indexOfSelected(rows) < 0) this.#select(rows, index);
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
    const next = moved(key, this.#indexOfSelected(rows), this.#room);
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
    this.#room = Math.max(1, size.rows - otherLines);
    const index = this.#indexOfSelected(agents);
    this.#top = windowOf(index, this.#top, this.#room, agents.length);
    const [headings = '', ...lines] = this.#table(agents, columns);
    const shown = lines.slice(this.#top, this.#top + this.#room);
    const blanks = Array.from({ length: this.#room - shown.length }, () => '');
    const below = agents[index];
    return [
      head,
      headings,
      ...shown.map((line, row) =>
        row + this.#top === index ? selectedLine(line, columns) : line
      ),
      ...blanks,
      ...(below ? about(below, columns) : [])
    ];
  }

  #table(agents: WatchedAgent[], columns: number): string[] {
    const { dim } = colorsFor(process.stdout);
    const seconds = (performance.now() - this.#readAt) / 1000;
    const headings = agentColumns.map(
      ({ heading }): Cell => ({ text: heading, color: dim })
    );
    const rows = agents.map((agent) => agentRow(agent, seconds, columns));
    // The mark of the selected line takes two columns. The last column of the
    // terminal stays free: some terminals clear it after a line.
    const text = alignedRows(agentColumns, [headings, ...rows], columns - 3);
    return text.split('\n').map((line) => `  ${line}`);
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
    if (wanted === '') return all;
    return all.filter(({ id, engine, model, state, doing, task }) =>
      [id, engine, model ?? '', state, doing, task].some((text) =>
        text.toLowerCase().includes(wanted)
      )
    );
  }
}

const nothingYet = [
  'There are no agents in this workspace yet. Start one in another terminal:',
  '',
  '  troupe run claude "explain this repository"',
  '',
  'or ask a client that troupe is set up in (troupe init) to delegate something.'
];

const noneRunning =
  'Nobody is at work. Those that ended are shown with --limit.';

function selectedLine(line: string, columns: number): string {
  const { inverse } = colorsFor(process.stdout);
  const text = `> ${stripVTControlCharacters(line).slice(2)}`;
  const rest = ' '.repeat(Math.max(0, columns - 1 - widthOf(text)));
  return inverse(`${text}${rest}`);
}

/** Details that do not fit into the agent's line. */
function about(agent: WatchedAgent, columns: number): string[] {
  const { dim } = colorsFor(process.stdout);
  const { of, id, engine, model, task, doing, endedAt } = agent;
  const label = isWorker(of) ? engine : of.record.label;
  const held = isWorker(of) ? of.meta.access : of.record.access;
  const facts = `${label} ${id}, ${model ?? 'default model'}, access ${held}: ${task}`;
  const state = [
    ...(endedAt === undefined ? [] : [`ended ${when(endedAt)}`]),
    ...(doing === task ? [] : [doing])
  ];
  return [facts, state.join(': ')].map((line) =>
    dim(shorten(terminalLine(line), columns - 1))
  );
}
