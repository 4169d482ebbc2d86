import type { RecordIdentity } from '../../paths/records.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { tailOf } from '../../state/files/text-file.ts';
import type { JournalWindow, NumberedEntry } from './journal-window.ts';
import { markOf, replaceView, viewPath } from './view-file.ts';

/** The number of entries in a full archive file. */
export const archiveEntries = 100;

/** The range of entries of one archive file. */
export interface Chunk {
  /** The ordinal of the first entry. */
  first: number;
  /** One more than the ordinal of the last entry. */
  end: number;
  /** The position in the journal up to which the file is current. */
  offset: number;
  mark: string;
}

/** The ordinal of the first entry in the same archive file. */
export function chunkStart(ordinal: number): number {
  return ordinal - (ordinal % archiveEntries);
}

export function newestFirst(window: JournalWindow): NumberedEntry[] {
  return [...window.entries.values()].sort((a, b) => b.ordinal - a.ordinal);
}

/** The entries by the first ordinal of their archive file, newest first. */
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

/** The archive files of entries that leave IAC.md or ended after they left. */
export function chunksToWrite(
  window: JournalWindow,
  archived: number,
  oldest: number
): Chunk[] {
  const { offset, mark } = window.position;
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
    offset,
    mark
  }));
}

/**
 * Writes one archive file atomically. A server that lags behind keeps the file
 * of a server that has read more of the journal.
 * @param isThere whether the position in a file's footer exists in the journal;
 *   otherwise the file was written from another journal
 */
export async function writeArchive(
  directory: string,
  identity: RecordIdentity,
  chunk: Chunk,
  isThere: (place: Pick<Chunk, 'offset' | 'mark'>) => boolean,
  render: () => Promise<Buffer[]>
): Promise<void> {
  const { first, end, offset, mark } = chunk;
  const stem = archiveStem(first);
  const path = viewPath(directory, stem, identity);
  const isWanted = () => {
    const existing = footerIn(path);
    return !(
      existing &&
      existing.offset >= offset &&
      existing.end >= end &&
      isThere(existing)
    );
  };
  if (!isWanted()) return;
  const texts = await render();
  ensureDirectory(directory);
  const parts = [
    `# Inter-Agent Communication: archive\n\n${markOf(path, stem, identity)}\n\n---\n\n`,
    ...inLines(texts),
    `\n<!-- troupe: journal ${offset} bytes, entries to ${end}, mark ${mark} -->\n`
  ];
  // Another server may have written the file during the rendering.
  await replaceView(path, parts, identity, isWanted);
}

/** The file name, without `.md`, by the ordinal of the first entry. */
function archiveStem(first: number): string {
  return `IAC-${number(first + 1)}-${number(first + archiveEntries)}`;
}

/** The names of all archive files, given the oldest ordinal in IAC.md. */
export function archivedBefore(oldest: number): string[] {
  const chunks = Math.ceil(oldest / archiveEntries);
  return Array.from({ length: chunks }, (_, n) =>
    archiveStem(n * archiveEntries)
  );
}

/** Inserts a newline between entries. */
export function inLines(texts: Buffer[]): (string | Buffer)[] {
  return texts.flatMap((text, index) => (index === 0 ? [text] : ['\n', text]));
}

function footerIn(path: string) {
  const [, offset, end, mark] =
    /<!-- troupe: journal (\d+) bytes, entries to (\d+), mark ([0-9a-z]+) -->\n$/.exec(
      tailOf(path, 200)
    ) ?? [];
  return mark === undefined
    ? undefined
    : { offset: Number(offset), end: Number(end), mark };
}

function number(ordinal: number): string {
  return String(ordinal).padStart(6, '0');
}
