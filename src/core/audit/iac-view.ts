import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { ensureDirectory } from '../state/directories.ts';
import { tailOf } from '../state/text-file.ts';
import {
  archiveEntries,
  type Chunk,
  chunkStart,
  chunksToWrite,
  writeArchive
} from './archive.ts';
import { type ActiveAgent, activeTable } from './context-view.ts';
import { DayTotals } from './day-totals.ts';
import { renderEntry, utc } from './entry.ts';
import { journalSize } from './journal.ts';
import {
  type Bookmark,
  JournalWindow,
  type NumberedEntry
} from './journal-window.ts';
import type { Redact } from './redact.ts';
import { replaceView, viewMark } from './view-file.ts';

export interface IacViewOptions {
  journal: string;
  logDirectory: string;
  workspace: string;
  maximumEntries: number;
  maximumBytes: number;
  redact: Redact;
}

interface ViewBookmark extends Bookmark {
  /** Ordinal of the oldest entry in IAC.md; those before are archived. */
  shownFrom: number;
}

/**
 * `logs/IAC.md`: the journal for people, newest first. Any server renders it,
 * whole and atomically; its last line says how much of the journal it shows,
 * so a server that lags behind is noticed and made good by the next.
 */
export class IacView {
  readonly #options: IacViewOptions;
  readonly path: string;
  readonly #totals = new DayTotals();
  #window: JournalWindow | undefined;
  #texts = new Map<string, { state: string; text: string }>();
  #queued = new Set<string>();

  constructor(options: IacViewOptions) {
    this.#options = options;
    this.path = join(options.logDirectory, 'IAC.md');
  }

  /** Renders the present state of the journal and of the active agents. */
  async render(active: ActiveAgent[], now = new Date()): Promise<void> {
    const day = now.toISOString().slice(0, 10);
    this.#totals.turnTo(day);
    const archived = this.#bookmark()?.shownFrom ?? 0;
    let window = await this.#follow(day);
    const header = this.#header(active, now);
    this.#queued = new Set(
      active.filter(({ queued }) => queued).map((agent) => agent.agent_id)
    );
    let shown = await this.#newest(window, archived, header);
    let chunks = chunksToWrite(window, archived, shown.oldest);
    if (chunks.some((chunk) => chunk.first < window.first)) {
      window = await this.#readWhole(window);
      shown = await this.#newest(window, archived, header);
      chunks = chunksToWrite(window, archived, shown.oldest);
    }
    for (const chunk of chunks) await this.#archive(window, chunk);
    ensureDirectory(this.#options.logDirectory);
    const entries = shown.texts.join('\n');
    const { oldest } = shown;
    replaceView(
      this.path,
      `${header}${entries}\n${footer({ ...window.position, shownFrom: oldest })}\n`
    );
    window.ended.clear();
    window.forgetBefore(chunkStart(oldest) - archiveEntries);
    for (const id of this.#texts.keys())
      if ((window.entries.get(id)?.ordinal ?? -1) < oldest)
        this.#texts.delete(id);
  }

  /** Bytes of the journal that IAC.md shows; undefined without IAC.md. */
  shownOffset(): number | undefined {
    return this.#bookmark()?.offset;
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  async #follow(day: string): Promise<JournalWindow> {
    const { journal } = this.#options;
    if (this.#window?.isStale) {
      this.#window = undefined;
      this.#texts.clear();
    }
    if (this.#window) await this.#window.update();
    else {
      const bookmark = this.#bookmark();
      const take = this.#totals.take.bind(this.#totals);
      this.#window = bookmark
        ? await JournalWindow.open(
            journal,
            bookmark,
            chunkStart(bookmark.shownFrom) - archiveEntries,
            day,
            take
          )
        : await JournalWindow.openWhole(journal, 0, take);
    }
    const { ended, entries } = this.#window;
    return [...ended].every((id) => entries.has(id))
      ? this.#window
      : this.#readWhole(this.#window);
  }

  /** An agent ended that was archived long ago: all its neighbours count. */
  async #readWhole(before: JournalWindow): Promise<JournalWindow> {
    const whole = await JournalWindow.openWhole(
      this.#options.journal,
      before.position.offset,
      this.#totals.take.bind(this.#totals)
    );
    for (const id of before.ended) whole.ended.add(id);
    this.#window = whole;
    return whole;
  }

  /** The newest entries that fit and are not archived yet. */
  async #newest(
    window: JournalWindow,
    archived: number,
    header: string
  ): Promise<{ texts: string[]; oldest: number }> {
    const { maximumEntries, maximumBytes } = this.#options;
    const texts: string[] = [];
    let bytes = Buffer.byteLength(header) + footerBytes;
    let oldest = window.position.spawns;
    for (const entry of newestFirst(window)) {
      if (texts.length >= maximumEntries || entry.ordinal < archived) break;
      const text = await this.#textOf(entry);
      bytes += Buffer.byteLength(text) + 1;
      if (bytes > maximumBytes && texts.length > 0) break;
      texts.push(text);
      oldest = entry.ordinal;
      await breathe();
    }
    return { texts, oldest };
  }

  async #archive(window: JournalWindow, chunk: Chunk): Promise<void> {
    const { logDirectory, journal } = this.#options;
    const directory = join(logDirectory, 'archive');
    await writeArchive(directory, chunk, journalSize(journal), () =>
      Promise.all(
        newestFirst(window)
          .filter(
            ({ ordinal }) => ordinal >= chunk.first && ordinal < chunk.end
          )
          .map((entry) => this.#textOf(entry))
      )
    );
  }

  async #textOf(entry: NumberedEntry): Promise<string> {
    const id = entry.spawned.agent_id;
    const queued = this.#queued.has(id);
    const state = entry.finished ? 'ended' : queued ? 'queued' : 'running';
    const known = this.#texts.get(id);
    if (known?.state === state) return known.text;
    const { workspace, redact } = this.#options;
    const text = await renderEntry({ ...entry, queued }, workspace, redact);
    this.#texts.set(id, { state, text });
    return text;
  }

  #header(active: ActiveAgent[], now: Date): string {
    const { maximumEntries } = this.#options;
    return [
      '# Inter-Agent Communication (IAC)',
      '',
      `${viewMark} from \`iac.jsonl\`; changes made here are lost.`,
      '',
      `**Last updated:** ${utc(now.toISOString())}`,
      '',
      '## Today',
      '',
      this.#totals.table(),
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

  /** What IAC.md says of itself; undefined when it shows another journal. */
  #bookmark(): ViewBookmark | undefined {
    const [, offset, spawns, shownFrom] =
      /<!-- troupe: journal (\d+) bytes, (\d+) spawns, shown from (\d+) -->\n$/.exec(
        tailOf(this.path, footerBytes)
      ) ?? [];
    const shown = {
      offset: Number(offset),
      spawns: Number(spawns),
      shownFrom: Number(shownFrom)
    };
    return shown.offset <= journalSize(this.#options.journal)
      ? shown
      : undefined;
  }
}

const footerBytes = 200;

function footer({ offset, spawns, shownFrom }: ViewBookmark): string {
  return `<!-- troupe: journal ${offset} bytes, ${spawns} spawns, shown from ${shownFrom} -->`;
}

function newestFirst(window: JournalWindow): NumberedEntry[] {
  return [...window.entries.values()].sort((a, b) => b.ordinal - a.ordinal);
}
