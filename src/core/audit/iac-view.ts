import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { readIfThere, replaceFile } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { type ActiveAgent, activeTable } from './context-view.ts';
import { oneLine, renderEntry, utc } from './entry.ts';
import {
  type Bookmark,
  JournalWindow,
  type NumberedEntry
} from './journal-window.ts';

export interface IacViewOptions {
  journal: string;
  logDirectory: string;
  workspace: string;
  maximumEntries: number;
  maximumBytes: number;
  redact: (text: string) => string;
}

/** Entries in one archive file. */
const archiveEntries = 100;

/**
 * `logs/IAC.md`: the journal for people, newest first. Any server renders it,
 * whole and atomically; its last line says how much of the journal it shows,
 * so a server that lags behind is noticed and made good by the next.
 */
export class IacView {
  readonly #options: IacViewOptions;
  readonly path: string;
  #window: JournalWindow | undefined;
  readonly #texts = new Map<string, { finished: boolean; text: string }>();
  #shownFrom = 0;

  constructor(options: IacViewOptions) {
    this.#options = options;
    this.path = join(options.logDirectory, 'IAC.md');
  }

  /** Renders the present state of the journal and of the active agents. */
  async render(active: ActiveAgent[], now = new Date()): Promise<void> {
    const window = await this.#follow(now);
    const entries = [...window.entries.values()].sort(
      (a, b) => b.ordinal - a.ordinal
    );
    const shown: string[] = [];
    let bytes = 0;
    let oldest = window.position.spawns;
    for (const entry of entries) {
      if (shown.length >= this.#options.maximumEntries) break;
      const text = await this.#textOf(entry);
      bytes += Buffer.byteLength(text);
      if (bytes > this.#options.maximumBytes && shown.length > 0) break;
      shown.push(text);
      oldest = entry.ordinal;
      await breathe();
    }
    await this.#archive(entries, oldest);
    ensureDirectory(this.#options.logDirectory);
    replaceFile(
      this.path,
      `${this.#header(active, entries, now)}${shown.join('\n')}\n${footer(window.position, oldest)}\n`
    );
    window.forgetBefore(oldest - (oldest % archiveEntries) - archiveEntries);
  }

  /** Bytes of the journal that IAC.md shows; undefined without IAC.md. */
  shownOffset(): number | undefined {
    return bookmarkIn(this.path)?.offset;
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  async #follow(now: Date): Promise<JournalWindow> {
    if (!this.#window) {
      const bookmark = bookmarkIn(this.path);
      this.#shownFrom = bookmark?.shownFrom ?? 0;
      this.#window = await JournalWindow.open(
        this.#options.journal,
        bookmark,
        this.#options.maximumEntries + 2 * archiveEntries,
        now.toISOString().slice(0, 10)
      );
    }
    await this.#window.update();
    if (this.#window.strays.size > 0) await this.#reread(this.#window.strays);
    return this.#window;
  }

  /** An archived agent ended: only the whole journal tells its neighbours. */
  async #reread(strays: Set<string>): Promise<void> {
    const { journal } = this.#options;
    const whole = await JournalWindow.open(journal, undefined, 0, '');
    await whole.update();
    whole.strays.clear();
    for (const id of strays) this.#texts.set(id, { finished: false, text: '' });
    this.#window = whole;
  }

  async #textOf(entry: NumberedEntry): Promise<string> {
    const id = entry.spawned.agent_id;
    const finished = entry.finished !== undefined;
    const known = this.#texts.get(id);
    if (known?.finished === finished) return known.text;
    const { workspace, redact } = this.#options;
    const text = await renderEntry(entry, workspace, redact);
    this.#texts.set(id, { finished, text });
    return text;
  }

  /** Entries below `oldest` go to files of a hundred, each written whole. */
  async #archive(entries: NumberedEntry[], oldest: number): Promise<void> {
    const moved = entries.filter(
      (entry) => entry.ordinal < oldest && entry.ordinal >= this.#shownFrom
    );
    const late = entries.filter(
      (entry) =>
        entry.ordinal < this.#shownFrom &&
        entry.finished !== undefined &&
        this.#texts.get(entry.spawned.agent_id)?.finished === false
    );
    const chunks = new Set(
      [...moved, ...late].map((entry) =>
        Math.floor(entry.ordinal / archiveEntries)
      )
    );
    for (const chunk of chunks) {
      const first = chunk * archiveEntries;
      const texts: string[] = [];
      for (const entry of entries)
        if (
          entry.ordinal >= first &&
          entry.ordinal < Math.min(oldest, first + archiveEntries)
        )
          texts.push(await this.#textOf(entry));
      const directory = join(this.#options.logDirectory, 'archive');
      ensureDirectory(directory);
      const name = `IAC-${number(first + 1)}-${number(first + archiveEntries)}.md`;
      replaceFile(
        join(directory, name),
        `# Inter-Agent Communication: archive\n\n---\n\n${texts.join('\n')}`
      );
    }
    for (const entry of moved)
      if (entry.finished) this.#texts.delete(entry.spawned.agent_id);
    this.#shownFrom = Math.max(this.#shownFrom, oldest);
  }

  #header(active: ActiveAgent[], entries: NumberedEntry[], now: Date): string {
    const { maximumEntries } = this.#options;
    return [
      '# Inter-Agent Communication (IAC)',
      '',
      '> Written by troupe from `iac.jsonl`; changes made here are lost.',
      '',
      `**Last updated:** ${utc(now.toISOString())}`,
      '',
      '## Today',
      '',
      todayTable(entries, now),
      '',
      '## Active Agents',
      '',
      activeTable(active),
      '',
      '---',
      '',
      '## History',
      '',
      `> Newest first, at most ${maximumEntries}; older ones are in \`archive/\`.`,
      '',
      '---',
      '',
      ''
    ].join('\n');
  }
}

/** Agents, time and cost of today (UTC) per engine. */
function todayTable(entries: NumberedEntry[], now: Date): string {
  const today = now.toISOString().slice(0, 10);
  const rows = new Map<
    string,
    { agents: number; ms: number; costs: (number | null)[] }
  >();
  for (const { spawned, finished } of entries) {
    if (!spawned.created_at.startsWith(today)) continue;
    const row = rows.get(spawned.label) ?? { agents: 0, ms: 0, costs: [] };
    row.agents += 1;
    row.ms += finished?.duration_ms ?? 0;
    if (finished) row.costs.push(finished.cost_usd);
    rows.set(spawned.label, row);
  }
  const lines = [...rows].map(
    ([label, row]) =>
      `| ${oneLine(label, 40)} | ${row.agents} | ${(row.ms / 1000).toFixed(1)}s | ${costOf(row.costs)} |`
  );
  return [
    '| Engine | Agents | Time | Cost |',
    '|--------|--------|------|------|',
    ...(lines.length > 0 ? lines : ['| - | 0 | - | - |'])
  ].join('\n');
}

function costOf(costs: (number | null)[]): string {
  const known = costs.filter((cost) => cost !== null);
  if (known.length === 0) return 'unknown';
  const sum = `$${known.reduce((total, cost) => total + cost, 0).toFixed(4)}`;
  const unknown = costs.length - known.length;
  return unknown === 0 ? sum : `${sum} + ${unknown} unknown`;
}

function footer(position: Bookmark, shownFrom: number): string {
  return `<!-- troupe: journal ${position.offset} bytes, ${position.spawns} spawns, shown from ${shownFrom} -->`;
}

function bookmarkIn(path: string) {
  const tail = (readIfThere(path) ?? '').slice(-200);
  const [, offset, spawns, shownFrom] =
    /<!-- troupe: journal (\d+) bytes, (\d+) spawns, shown from (\d+) -->\n$/.exec(
      tail
    ) ?? [];
  return offset === undefined
    ? undefined
    : {
        offset: Number(offset),
        spawns: Number(spawns),
        shownFrom: Number(shownFrom)
      };
}

function number(ordinal: number): string {
  return String(ordinal).padStart(6, '0');
}
