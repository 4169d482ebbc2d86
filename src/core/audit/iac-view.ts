import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { ensureDirectory } from '../state/directories.ts';
import { headOf } from '../state/text-file.ts';
import {
  archiveEntries,
  byChunk,
  type Chunk,
  chunkStart,
  chunksToWrite,
  inLines,
  newestFirst,
  writeArchive
} from './archive.ts';
import { type ActiveAgent, showsNobody } from './context-view.ts';
import { DayTotals } from './day-totals.ts';
import { renderEntry } from './entry.ts';
import { headerOf } from './iac-header.ts';
import { type JournalFile, JournalFiles, totalSize } from './journal-files.ts';
import { JournalWindow, type NumberedEntry } from './journal-window.ts';
import type { Redact } from './redact.ts';
import {
  footer,
  footerBytes,
  shownIn,
  type ViewBookmark
} from './view-bookmark.ts';
import { replaceView } from './view-file.ts';

export interface IacViewOptions {
  journal: string;
  logDirectory: string;
  workspace: string;
  maximumEntries: number;
  maximumBytes: number;
  redact: Redact;
}

/** Within these its table of active agents begins. */
const headBytes = 8192;

/** As it is written: as a string it would be made into bytes each time. */
type Shown = { state: string; text: Buffer };

/**
 * `logs/IAC.md`: the journal for people, newest first. Any server renders it,
 * whole and atomically; its last line says how much of the journal it shows,
 * so a server that lags behind is noticed and made good by the next.
 */
export class IacView {
  readonly #options: IacViewOptions;
  readonly path: string;
  readonly #files: JournalFiles;
  #totals = new DayTotals();
  #window: JournalWindow | undefined;
  #texts = new Map<string, Shown>();
  #queued = new Set<string>();

  constructor(options: IacViewOptions) {
    this.#options = options;
    this.path = join(options.logDirectory, 'IAC.md');
    this.#files = new JournalFiles(options.journal);
  }

  /** Renders the present state of the journal and of the active agents. */
  async render(active: ActiveAgent[], now = new Date()): Promise<void> {
    const day = now.toISOString().slice(0, 10);
    const { list, bookmark } = shownIn(this.path, () => this.#files.list());
    const archived = bookmark?.shownFrom ?? 0;
    let window = await this.#follow(day, list, bookmark);
    const { maximumEntries } = this.#options;
    const today = this.#totals.table();
    const header = headerOf({ active, today, maximumEntries, now });
    this.#queued = new Set(
      active.filter(({ queued }) => queued).map((agent) => agent.agent_id)
    );
    let shown = await this.#newest(window, archived, header);
    let chunks = chunksToWrite(window, archived, shown.oldest);
    if (chunks.some((chunk) => chunk.first < window.first)) {
      window = await this.#readWhole(window, list);
      shown = await this.#newest(window, archived, header);
      chunks = chunksToWrite(window, archived, shown.oldest);
    }
    const groups = chunks.length > 0 ? byChunk(window) : undefined;
    for (const chunk of chunks)
      await this.#archive(window, chunk, groups?.get(chunk.first) ?? []);
    if (!existsSync(this.#options.workspace)) return;
    ensureDirectory(this.#options.logDirectory);
    const { texts, oldest } = shown;
    const last = footer({ ...window.position, shownFrom: oldest });
    const parts = [header, ...inLines(texts), `\n${last}\n`];
    // Who has read more may have put his there meanwhile.
    const there = () => shownIn(this.path, () => this.#files.look()).bookmark;
    const isWanted = () => (there()?.offset ?? 0) <= window.position.offset;
    await replaceView(this.path, parts, isWanted);
    window.ended.clear();
    window.forgetBefore(chunkStart(oldest) - archiveEntries);
    // Those of the archive file that is being filled are written again.
    for (const id of this.#texts.keys())
      if ((window.entries.get(id)?.ordinal ?? -1) < chunkStart(oldest))
        this.#texts.delete(id);
  }

  /** Whether IAC.md shows all of the journal, and how much that is. */
  look(): { size: number; currentSize: number; isShown: boolean } {
    const { list, bookmark } = shownIn(this.path, () => this.#files.look());
    const size = totalSize(list);
    const currentSize = list.at(-1)?.size ?? 0;
    return { size, currentSize, isShown: bookmark?.offset === size };
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  /** Whether it has somebody at work, as those who were here last saw it. */
  showsSomebody(): boolean {
    return this.exists() && !showsNobody(headOf(this.path, headBytes));
  }

  async #follow(
    day: string,
    list: JournalFile[],
    bookmark: ViewBookmark | undefined
  ): Promise<JournalWindow> {
    this.#totals.turnTo(day);
    const isKept = await this.#window?.update(list);
    if (!isKept) {
      this.#texts.clear();
      this.#totals = new DayTotals();
      this.#totals.turnTo(day);
    }
    const window =
      (isKept ? this.#window : undefined) ??
      (await this.#open(day, list, bookmark));
    this.#window = window;
    const { ended, entries } = window;
    return [...ended].every((id) => entries.has(id))
      ? window
      : this.#readWhole(window, list);
  }

  #open(
    day: string,
    list: JournalFile[],
    bookmark: ViewBookmark | undefined
  ): Promise<JournalWindow> {
    const take = this.#totals.take.bind(this.#totals);
    return bookmark
      ? JournalWindow.open(
          this.#files,
          list,
          bookmark,
          chunkStart(bookmark.shownFrom) - archiveEntries,
          day,
          take
        )
      : JournalWindow.openWhole(this.#files, list, 0, take);
  }

  /** An agent ended that was archived long ago: all its neighbours count. */
  async #readWhole(
    before: JournalWindow,
    list: JournalFile[]
  ): Promise<JournalWindow> {
    const whole = await JournalWindow.openWhole(
      this.#files,
      list,
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
  ): Promise<{ texts: Buffer[]; oldest: number }> {
    const { maximumEntries, maximumBytes } = this.#options;
    const texts: Buffer[] = [];
    let bytes = Buffer.byteLength(header) + footerBytes;
    let oldest = window.position.spawns;
    for (const entry of newestFirst(window)) {
      if (texts.length >= maximumEntries || entry.ordinal < archived) break;
      const text = await this.#textOf(window, entry);
      bytes += text.length + 1;
      if (bytes > maximumBytes && texts.length > 0) break;
      texts.push(text);
      oldest = entry.ordinal;
    }
    return { texts, oldest };
  }

  /** One after the other: there may be very many. */
  async #archive(
    window: JournalWindow,
    chunk: Chunk,
    entries: NumberedEntry[]
  ): Promise<void> {
    const directory = join(this.#options.logDirectory, 'archive');
    const bytes = () => this.look().size;
    await writeArchive(directory, chunk, bytes, async () => {
      const texts: Buffer[] = [];
      for (const entry of entries.filter(({ ordinal }) => ordinal < chunk.end))
        texts.push(await this.#textOf(window, entry));
      return texts;
    });
    // A file that is full is not written again; there may be very many.
    if (chunk.end === chunk.first + archiveEntries)
      for (const { id } of entries) this.#texts.delete(id);
  }

  async #textOf(window: JournalWindow, entry: NumberedEntry): Promise<Buffer> {
    const queued = this.#queued.has(entry.id);
    const running = queued ? 'queued' : 'running';
    const state = entry.cleanedAt ?? (entry.finishedAt ? 'ended' : running);
    const known = this.#texts.get(entry.id);
    if (known?.state === state) return known.text;
    const { workspace, redact } = this.#options;
    const records = { ...window.recordsOf(entry), queued };
    const text = Buffer.from(await renderEntry(records, workspace, redact));
    this.#texts.set(entry.id, { state, text });
    await breathe();
    return text;
  }
}
