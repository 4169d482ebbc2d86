import { stripVTControlCharacters } from 'node:util';
import { colorsFor } from '../output.ts';
import { alignedRows, type Cell } from '../table.ts';
import { oneLine, shorten, when, widthOf } from '../text.ts';
import { agentColumns, agentRow, summaryOf } from './agent-columns.ts';
import { moved, windowOf } from './scrolling.ts';
import type { Size } from './size.ts';
import { isWorker, type WatchedAgent } from './watched-agent.ts';
import type { Sight } from './watcher.ts';

/** Head, headings, and two lines about the one that is selected. */
const otherLines = 4;

/** All agents, one a line, one of them selected. */
export class AgentList {
  #sight: Sight | undefined;
  #lookedAt = 0;
  #selected: string | undefined;
  #top = 0;
  #room = 1;
  #filter = '';

  /** The selection stays with its agent, wherever that goes. */
  show(sight: Sight): void {
    const before = this.#rows();
    const place = before.findIndex(({ id }) => id === this.#selected);
    this.#sight = sight;
    this.#lookedAt = performance.now();
    const rows = this.#rows();
    if (rows.some(({ id }) => id === this.#selected)) return;
    const next = rows[Math.min(Math.max(0, place), rows.length - 1)];
    this.#selected = next?.id;
  }

  get selected(): WatchedAgent | undefined {
    return this.#rows().find(({ id }) => id === this.#selected);
  }

  get filter(): string {
    return this.#filter;
  }

  set filter(words: string) {
    this.#filter = words;
    const rows = this.#rows();
    if (!rows.some(({ id }) => id === this.#selected))
      this.#selected = rows[0]?.id;
  }

  /** True when the key moves the selection. */
  onKey(key: string): boolean {
    const rows = this.#rows();
    const place = rows.findIndex(({ id }) => id === this.#selected);
    const next = moved(key, place, this.#room);
    if (next === undefined) return false;
    const last = rows.length - 1;
    this.#selected = rows[Math.min(Math.max(0, next), last)]?.id;
    return true;
  }

  render(size: Size): string[] {
    const sight = this.#sight;
    if (!sight) return ['Looking …'];
    const { bold } = colorsFor(process.stdout);
    const { columns } = size;
    const head = bold(shorten(summaryOf(sight), columns - 1));
    if (sight.agents.length === 0)
      return [head, '', ...(sight.isUnused ? nothingYet : [nobodyAtWork])];
    const agents = this.#rows();
    if (agents.length === 0)
      return [head, '', `No agent has "${this.#filter}". Esc shows all.`];
    this.#room = Math.max(1, size.rows - otherLines);
    const place = agents.findIndex(({ id }) => id === this.#selected);
    this.#top = windowOf(place, this.#top, this.#room, agents.length);
    const [headings = '', ...lines] = this.#table(agents, columns);
    const shown = lines.slice(this.#top, this.#top + this.#room);
    const blanks = Array.from({ length: this.#room - shown.length }, () => '');
    const below = agents[place];
    return [
      head,
      headings,
      ...shown.map((line, row) =>
        row + this.#top === place ? selectedLine(line, columns) : line
      ),
      ...blanks,
      ...(below ? about(below, columns) : [])
    ];
  }

  #table(agents: WatchedAgent[], columns: number): string[] {
    const { dim } = colorsFor(process.stdout);
    const seconds = (performance.now() - this.#lookedAt) / 1000;
    const headings = agentColumns.map(
      ({ heading }): Cell => ({ text: heading, color: dim })
    );
    const rows = agents.map((agent) => agentRow(agent, seconds, columns));
    // Two columns are for what points at the selected one; the last one of
    // the terminal stays free, as some clear it with what is right of a line.
    const text = alignedRows(agentColumns, [headings, ...rows], columns - 3);
    return text.split('\n').map((line) => `  ${line}`);
  }

  #rows(): WatchedAgent[] {
    const wanted = this.#filter.toLowerCase();
    const all = this.#sight?.agents ?? [];
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

const nobodyAtWork =
  'Nobody is at work. Those that ended are shown with --limit.';

function selectedLine(line: string, columns: number): string {
  const { inverse } = colorsFor(process.stdout);
  const text = `> ${stripVTControlCharacters(line).slice(2)}`;
  const rest = ' '.repeat(Math.max(0, columns - 1 - widthOf(text)));
  return inverse(`${text}${rest}`);
}

/** What had no room in its line. */
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
    dim(shorten(oneLine(line), columns - 1))
  );
}
