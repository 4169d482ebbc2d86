import type { RecordIdentity } from '../paths/identity.ts';
import { ensureDirectory } from '../state/directories.ts';
import { tailOf } from '../state/text-file.ts';
import type { JournalWindow, NumberedEntry } from './journal-window.ts';
import { markOf, replaceView, viewPath } from './view-file.ts';

/** Entries in one archive file. */
export const archiveEntries = 100;

/** Entries of one archive file, as far as they have left IAC.md. */
export interface Chunk {
  /** Ordinal of its first entry. */
  first: number;
  /** Ordinal after its last entry. */
  end: number;
  /** Bytes of the journal that it was written from. */
  offset: number;
}

/** Ordinal of the first entry in the archive file that holds an entry. */
export function chunkStart(ordinal: number): number {
  return ordinal - (ordinal % archiveEntries);
}

export function newestFirst(window: JournalWindow): NumberedEntry[] {
  return [...window.entries.values()].sort((a, b) => b.ordinal - a.ordinal);
}

/** The entries of each archive file, newest first, by its first ordinal. */
export function byChunk(window: JournalWindow): Map<number, NumberedEntry[]> {
  const chunks = new Map<number, NumberedEntry[]>();
  for (const entry of newestFirst(window)) {
    const first = chunkStart(entry.ordinal);
    const chunk = chunks.get(first) ?? [];
    chunks.set(first, chunk);
    chunk.push(entry);
  }
  return chunks;
}

/** Archive files of entries that leave IAC.md, or ended after they had. */
export function chunksToWrite(
  window: JournalWindow,
  archived: number,
  oldest: number
): Chunk[] {
  const { offset } = window.position;
  const firsts = new Set<number>();
  for (let ordinal = archived; ordinal < oldest; ordinal += 1)
    firsts.add(chunkStart(ordinal));
  for (const id of window.ended) {
    const ordinal = window.entries.get(id)?.ordinal ?? archived;
    if (ordinal < archived) firsts.add(chunkStart(ordinal));
  }
  return [...firsts].map((first) => ({
    first,
    end: Math.min(oldest, first + archiveEntries),
    offset
  }));
}

/**
 * Writes one archive file whole. A server that lags behind leaves the file of
 * one that has read more.
 * @param journalBytes as it is now: a file that claims more is of another one
 */
export async function writeArchive(
  directory: string,
  identity: RecordIdentity,
  chunk: Chunk,
  journalBytes: () => number,
  render: () => Promise<Buffer[]>
): Promise<void> {
  const { first, end, offset } = chunk;
  const stem = archiveStem(first);
  const path = viewPath(directory, stem, identity);
  const isWanted = () => {
    const there = footerIn(path);
    return !(
      there &&
      there.offset >= offset &&
      there.offset <= journalBytes() &&
      there.end >= end
    );
  };
  if (!isWanted()) return;
  const texts = await render();
  ensureDirectory(directory);
  const parts = [
    `# Inter-Agent Communication: archive\n\n${markOf(path, stem, identity)}\n\n---\n\n`,
    ...inLines(texts),
    `\n<!-- troupe: journal ${offset} bytes, entries to ${end} -->\n`
  ];
  // Somebody may have put his there meanwhile.
  await replaceView(path, parts, identity, isWanted);
}

/** The archive file of the entries from `first` on, without its ending. */
function archiveStem(first: number): string {
  return `IAC-${number(first + 1)}-${number(first + archiveEntries)}`;
}

/** Archive files that are whole once an entry is the oldest in IAC.md. */
export function archivedBefore(oldest: number): string[] {
  const chunks = Math.ceil(oldest / archiveEntries);
  return Array.from({ length: chunks }, (_, n) =>
    archiveStem(n * archiveEntries)
  );
}

/** With a newline between two of them. */
export function inLines(texts: Buffer[]): (string | Buffer)[] {
  return texts.flatMap((text, index) => (index === 0 ? [text] : ['\n', text]));
}

function footerIn(path: string) {
  const [, offset, end] =
    /<!-- troupe: journal (\d+) bytes, entries to (\d+) -->\n$/.exec(
      tailOf(path, 200)
    ) ?? [];
  return offset === undefined
    ? undefined
    : { offset: Number(offset), end: Number(end) };
}

function number(ordinal: number): string {
  return String(ordinal).padStart(6, '0');
}
