import { existsSync } from 'node:fs';
import { setImmediate as breathe } from 'node:timers/promises';
import type { RecordIdentity } from '../paths/identity.ts';
import type { Paths } from '../paths/paths.ts';
import { readIfThere } from '../state/atomic-file.ts';
import { ensureDirectory, namesIn } from '../state/directories.ts';
import { headOf } from '../state/text-file.ts';
import { type AgentPages, endedIn } from './agent-page.ts';
import {
  archivedBefore,
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
import { MissingViews } from './missing-views.ts';
import type { Redact } from './redact.ts';
import {
  footer,
  footerBytes,
  shownIn,
  type ViewBookmark
} from './view-bookmark.ts';
import { isOwnView, markOf, replaceView, viewPath } from './view-file.ts';

export interface IacViewOptions {
  paths: Pick<Paths, 'journal' | 'record' | 'views' | 'workspace'>;
  identity: () => RecordIdentity;
  pages: AgentPages;
  maximumEntries: number;
  maximumBytes: number;
  redact: Redact;
}

/** Within these its table of active agents begins. */
const headBytes = 8192;

const stem = 'IAC';

/** As it is written: as a string it would be made into bytes each time. */
type Shown = { state: string; text: Buffer };

/**
 * `logs/IAC.md`: the journal for people, newest first. Any server renders it,
 * whole and atomically; its last line says how much of the journal it shows,
 * so a server that lags behind is noticed and made good by the next.
 */
export class IacView {
  readonly #options: IacViewOptions;
  readonly #missing: MissingViews;
  readonly #files: JournalFiles;
  #totals = new DayTotals();
  #window: JournalWindow | undefined;
  #texts = new Map<string, Shown>();
  #queued = new Set<string>();
  #hasExpected = false;

  constructor(options: IacViewOptions) {
    this.#options = options;
    this.#files = new JournalFiles(options.paths.journal);
    this.#missing = new MissingViews(options.paths.views);
  }

  /** `logs/IAC.md`, as far as it is made from this record. */
  get path(): string {
    const { paths, identity } = this.#options;
    return viewPath(paths.views.directory, stem, identity());
  }

  /** Renders the present state of the journal and of the active agents. */
  async render(active: ActiveAgent[], now = new Date()): Promise<void> {
    const day = now.toISOString().slice(0, 10);
    const { paths, identity, pages } = this.#options;
    const path = this.path;
    const missing = this.#missing.find();
    // Archive files are written when entries leave IAC.md: all of them again.
    if (missing.archive.length > 0) this.#window = undefined;
    const seen = shownIn(path, identity(), () => this.#files.list());
    const { list } = seen;
    const bookmark = missing.archive.length > 0 ? undefined : seen.bookmark;
    const archived = bookmark?.shownFrom ?? 0;
    let window = await this.#follow(day, list, bookmark);
    const { maximumEntries } = this.#options;
    const today = this.#totals.table();
    const mark = markOf(path, stem, identity());
    const header = headerOf({ active, today, maximumEntries, now, mark });
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
    if (!existsSync(paths.workspace)) return;
    ensureDirectory(paths.views.directory);
    const { texts, oldest } = shown;
    // Before IAC.md, whose last line says that all views are up to date.
    const paged = await this.#page(window, oldest, pages);
    const last = footer({ ...window.position, shownFrom: oldest });
    const parts = [header, ...inLines(texts), `\n${last}\n`];
    // Who has read more may have put his there meanwhile.
    const there = () =>
      shownIn(path, identity(), () => this.#files.look()).bookmark;
    const isWanted = () => (there()?.offset ?? 0) <= window.position.offset;
    await replaceView(path, parts, identity(), isWanted);
    this.#missing.expect({ archive: archivedBefore(oldest), pages: paged });
    window.ended.clear();
    window.forgetBefore(chunkStart(oldest) - archiveEntries);
    // Those of the archive file that is being filled are written again.
    for (const id of this.#texts.keys())
      if ((window.entries.get(id)?.ordinal ?? -1) < chunkStart(oldest))
        this.#texts.delete(id);
  }

  /** Whether IAC.md shows all of the journal, and how much that is. */
  look(): { size: number; currentSize: number; isShown: boolean } {
    const { identity } = this.#options;
    const { list, bookmark } = shownIn(this.path, identity(), () =>
      this.#files.look()
    );
    const size = totalSize(list);
    const currentSize = list.at(-1)?.size ?? 0;
    this.#expectShown(bookmark);
    const isWhole = Object.values(this.#missing.find()).every(
      (names) => names.length === 0
    );
    const isShown = bookmark?.offset === size && isWhole;
    return { size, currentSize, isShown };
  }

  /** What another process has shown, as its files say. */
  #expectShown(bookmark: ViewBookmark | undefined): void {
    if (this.#hasExpected || !bookmark) return;
    this.#hasExpected = true;
    this.#missing.expect({
      archive: archivedBefore(bookmark.shownFrom),
      pages: endedIn(readIfThere(this.path) ?? '')
    });
  }

  /** Writes the pages that are not there. Returns the agents that have one. */
  async #page(
    window: JournalWindow,
    oldest: number,
    pages: AgentPages
  ): Promise<string[]> {
    const there = new Set(namesIn(this.#options.paths.views.agents));
    const paged: string[] = [];
    for (const { id, ordinal, finishedAt, cleanedAt } of newestFirst(window)) {
      if (ordinal < oldest || !finishedAt || cleanedAt) continue;
      if (there.has(`${id}.md`) || (await pages.write(id))) paged.push(id);
    }
    return paged;
  }

  /** True for a log of this record; one that a project brought is none. */
  exists(): boolean {
    return isOwnView(this.path, this.#options.identity());
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
    const { paths, identity } = this.#options;
    const bytes = () => this.look().size;
    await writeArchive(
      paths.views.archive,
      identity(),
      chunk,
      bytes,
      async () => {
        const texts: Buffer[] = [];
        for (const entry of entries.filter(
          ({ ordinal }) => ordinal < chunk.end
        ))
          texts.push(await this.#textOf(window, entry, '../agents'));
        return texts;
      }
    );
    // A file that is full is not written again; there may be very many.
    if (chunk.end === chunk.first + archiveEntries)
      for (const { id } of entries) this.#texts.delete(id);
  }

  /** @param pages where the pages of agents lie, seen from the view */
  async #textOf(
    window: JournalWindow,
    entry: NumberedEntry,
    pages = 'agents'
  ): Promise<Buffer> {
    const queued = this.#queued.has(entry.id);
    const running = queued ? 'queued' : 'running';
    const status = entry.cleanedAt ?? (entry.finishedAt ? 'ended' : running);
    const state = `${status} ${pages}`;
    const known = this.#texts.get(entry.id);
    if (known?.state === state) return known.text;
    const { paths, redact } = this.#options;
    const records = { ...window.recordsOf(entry), queued };
    const text = Buffer.from(
      await renderEntry(records, paths.record, redact, pages)
    );
    this.#texts.set(entry.id, { state, text });
    await breathe();
    return text;
  }
}
