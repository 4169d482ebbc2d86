import { existsSync } from 'node:fs';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Paths } from '../../paths/paths.ts';
import type { RecordIdentity } from '../../paths/records.ts';
import { readIfExists } from '../../state/files/atomic-file.ts';
import { ensureDirectory, namesIn } from '../../state/files/directories.ts';
import { headOf } from '../../state/files/text-file.ts';
import {
  type JournalFile,
  JournalFiles,
  totalSize
} from '../journal/journal-files.ts';
import type { Redact } from '../redaction/redact.ts';
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
import { type ActiveAgent, showsNoActiveAgents } from './context-view.ts';
import { DayTotals } from './day-totals.ts';
import { activeStatus, type Entry, renderEntry } from './entry.ts';
import {
  footer,
  footerBytes,
  headerOf,
  shownIn,
  type ViewBookmark
} from './iac-frame.ts';
import {
  JournalWindow,
  type NumberedEntry,
  type OnRecord
} from './journal-window.ts';
import { mostRows, overviewTable } from './overview.ts';
import {
  isOwnView,
  MissingViews,
  markOf,
  replaceView,
  viewPath
} from './view-file.ts';

export interface IacViewOptions {
  paths: Pick<Paths, 'journal' | 'record' | 'views' | 'workspace'>;
  identity: () => RecordIdentity;
  pages: AgentPages;
  maximumEntries: number;
  maximumBytes: number;
  redact: Redact;
}

/** The first row of the table of active agents is within these bytes. */
const headBytes = 64 * 1024;

const stem = 'IAC';

/** A rendered entry, encoded once instead of at every write. */
type RenderedEntry = { state: string; text: Buffer };

/**
 * `logs/IAC.md`: the journal as markdown, newest entries first. Any server may
 * render it; each rendering replaces the file atomically. The footer states how
 * much of the journal it shows, so that any server can detect a stale view.
 */
export class IacView {
  readonly #options: IacViewOptions;
  readonly #missing: MissingViews;
  readonly #files: JournalFiles;
  #totals = new DayTotals();
  readonly #count: OnRecord = (record, endOffset) =>
    this.#totals.take(record, endOffset);
  #window: JournalWindow | undefined;
  #texts = new Map<string, RenderedEntry>();
  #active = new Map<string, ActiveAgent>();
  #hasExpected = false;

  constructor(options: IacViewOptions) {
    this.#options = options;
    this.#files = new JournalFiles(options.paths.journal);
    this.#missing = new MissingViews(options.paths.views);
  }

  /** The path of `logs/IAC.md` for this record. */
  get path(): string {
    const { paths, identity } = this.#options;
    return viewPath(paths.views.directory, stem, identity());
  }

  async render(active: ActiveAgent[], now = new Date()): Promise<void> {
    const day = now.toISOString().slice(0, 10);
    const { paths, identity, pages } = this.#options;
    const path = this.path;
    const missing = this.#missing.find();
    // Without a window the journal is read again and all archives are written.
    if (missing.archive.length > 0) this.#window = undefined;
    const seen = shownIn(path, identity(), () => this.#files.list());
    const { list } = seen;
    const wanted = missing.archive.length > 0 ? undefined : seen.bookmark;
    // If the window has read up to the bookmark and can continue, the bookmark
    // is in this journal.
    const isOurs = wanted !== undefined && this.#window?.hasRead(wanted);
    const isKept = await this.#update(day, list);
    const isThere =
      wanted && ((isOurs && isKept) || this.#files.isAt(list, wanted));
    const bookmark = isThere ? wanted : undefined;
    const archived = bookmark?.shownFrom ?? 0;
    let window = await this.#follow(day, list, bookmark);
    const { maximumEntries } = this.#options;
    const today = this.#totals.table();
    const mark = markOf(path, stem, identity());
    this.#active = new Map(active.map((agent) => [agent.agent_id, agent]));
    const overview = overviewTable(
      newestFirst(window)
        .slice(0, mostRows)
        .map((entry) => this.#recordsOf(window, entry)),
      window.position.spawns
    );
    const facts = { overview, active, today, maximumEntries, now, mark };
    const header = headerOf(facts);
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
    // Before IAC.md, whose footer marks all views as up to date.
    const paged = await this.#page(window, oldest, pages);
    const last = footer({ ...window.position, shownFrom: oldest });
    const parts = [header, ...inLines(texts), `\n${last}\n`];
    // A server that has read more may have written IAC.md in the meantime.
    const isWanted = () => {
      const { list, bookmark } = shownIn(path, identity(), () =>
        this.#files.look()
      );
      const isOlder = (bookmark?.offset ?? 0) <= window.position.offset;
      return isOlder || !bookmark || !this.#files.isAt(list, bookmark);
    };
    await replaceView(path, parts, identity(), isWanted);
    this.#missing.expect({ archive: archivedBefore(oldest), pages: paged });
    window.ended.clear();
    window.forgetBefore(chunkStart(oldest) - archiveEntries);
    // Entries of the last, incomplete archive file are kept for the next write.
    for (const id of this.#texts.keys())
      if ((window.entries.get(id)?.ordinal ?? -1) < chunkStart(oldest))
        this.#texts.delete(id);
  }

  /** Checks whether IAC.md shows the whole journal. Sizes are in bytes. */
  look(): { size: number; currentSize: number; isShown: boolean } {
    const { identity } = this.#options;
    const { list, bookmark } = shownIn(this.path, identity(), () =>
      this.#files.look()
    );
    const size = totalSize(list);
    const currentSize = list.at(-1)?.size ?? 0;
    this.#expectShown(bookmark);
    const { archive, pages } = this.#missing.find();
    // The mark distinguishes another journal of the same size.
    const isShown =
      bookmark?.offset === size &&
      archive.length + pages.length === 0 &&
      (this.#window?.isAt(list, bookmark) || this.#files.isAt(list, bookmark));
    return { size, currentSize, isShown };
  }

  /** Expects the archive files and pages of an earlier process, by IAC.md. */
  #expectShown(bookmark: ViewBookmark | undefined): void {
    if (this.#hasExpected || !bookmark) return;
    this.#hasExpected = true;
    this.#missing.expect({
      archive: archivedBefore(bookmark.shownFrom),
      pages: endedIn(readIfExists(this.path) ?? '')
    });
  }

  /** Writes missing pages and returns the ids of all agents with a page. */
  async #page(
    window: JournalWindow,
    oldest: number,
    pages: AgentPages
  ): Promise<string[]> {
    const existing = new Set(namesIn(this.#options.paths.views.agents));
    const paged: string[] = [];
    for (const { id, ordinal, finishedAt, cleanedAt } of newestFirst(window)) {
      if (ordinal < oldest || !finishedAt || cleanedAt) continue;
      if (existing.has(`${id}.md`) || (await pages.write(id))) paged.push(id);
    }
    return paged;
  }

  /** Whether IAC.md exists and was rendered from this record. */
  exists(): boolean {
    return isOwnView(this.path, this.#options.identity());
  }

  /** Whether IAC.md on disk shows active agents. */
  showsActiveAgents(): boolean {
    return this.exists() && !showsNoActiveAgents(headOf(this.path, headBytes));
  }

  /** Reads new records. False when the window must be rebuilt. */
  async #update(day: string, list: JournalFile[]): Promise<boolean> {
    this.#totals.selectDay(day);
    if (await this.#window?.update(list)) return true;
    this.#window = undefined;
    this.#texts.clear();
    this.#totals = new DayTotals();
    this.#totals.selectDay(day);
    return false;
  }

  async #follow(
    day: string,
    list: JournalFile[],
    bookmark: ViewBookmark | undefined
  ): Promise<JournalWindow> {
    this.#window ??= bookmark
      ? await JournalWindow.open(
          this.#files,
          list,
          bookmark,
          chunkStart(bookmark.shownFrom) - archiveEntries,
          day,
          this.#count
        )
      : await JournalWindow.openWhole(this.#files, list, 0, this.#count);
    const window = this.#window;
    return [...window.ended].every((id) => window.entries.has(id))
      ? window
      : this.#readWhole(window, list);
  }

  /** Reads the whole journal, to find entries before the window. */
  async #readWhole(
    before: JournalWindow,
    list: JournalFile[]
  ): Promise<JournalWindow> {
    const { offset } = before.position;
    const whole = await JournalWindow.openWhole(
      this.#files,
      list,
      offset,
      this.#count
    );
    for (const id of before.ended) whole.ended.add(id);
    this.#window = whole;
    return whole;
  }

  /** Renders the newest entries within the limits that are not archived. */
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

  /** Renders entries sequentially, because there may be very many. */
  async #archive(
    window: JournalWindow,
    chunk: Chunk,
    entries: NumberedEntry[]
  ): Promise<void> {
    const { paths, identity } = this.#options;
    const isThere = ({ offset, mark }: Pick<Chunk, 'offset' | 'mark'>) => {
      const list = this.#files.look();
      return (
        offset <= totalSize(list) && this.#files.markAt(list, offset) === mark
      );
    };
    const render = async () => {
      const texts: Buffer[] = [];
      for (const entry of entries)
        if (entry.ordinal < chunk.end)
          texts.push(await this.#textOf(window, entry, '../agents'));
      return texts;
    };
    await writeArchive(paths.views.archive, identity(), chunk, isThere, render);
    // A full archive file is rarely written again.
    if (chunk.end === chunk.first + archiveEntries)
      for (const { id } of entries) this.#texts.delete(id);
  }

  /** @param pages the folder of the agents' pages, relative to the view */
  async #textOf(
    window: JournalWindow,
    entry: NumberedEntry,
    pages = 'agents'
  ): Promise<Buffer> {
    const records = this.#recordsOf(window, entry);
    const running = activeStatus(records);
    const status = entry.cleanedAt ?? (entry.finishedAt ? 'ended' : running);
    const state = `${status} ${pages}`;
    const known = this.#texts.get(entry.id);
    if (known?.state === state) return known.text;
    const { paths, redact } = this.#options;
    const text = Buffer.from(
      await renderEntry(records, paths.record, redact, pages)
    );
    this.#texts.set(entry.id, { state, text });
    await yieldToEventLoop();
    return text;
  }

  #recordsOf(window: JournalWindow, entry: NumberedEntry): Entry {
    const { queued = false, asking = false } = this.#active.get(entry.id) ?? {};
    return { ...window.recordsOf(entry), queued, asking };
  }
}
