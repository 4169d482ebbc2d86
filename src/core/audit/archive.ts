import { join } from 'node:path';
import { replaceFile } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { tailOf } from '../state/text-file.ts';
import type { JournalWindow } from './journal-window.ts';

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
 * @param journalBytes a file that claims more is of another journal
 */
export async function writeArchive(
  directory: string,
  chunk: Chunk,
  journalBytes: number,
  render: () => Promise<string[]>
): Promise<void> {
  const { first, end, offset } = chunk;
  const name = `IAC-${number(first + 1)}-${number(first + archiveEntries)}.md`;
  const path = join(directory, name);
  const there = footerIn(path);
  if (
    there &&
    there.offset >= offset &&
    there.offset <= journalBytes &&
    there.end >= end
  )
    return;
  const texts = await render();
  ensureDirectory(directory);
  replaceFile(
    path,
    `# Inter-Agent Communication: archive\n\n---\n\n${texts.join('\n')}\n<!-- troupe: journal ${offset} bytes, entries to ${end} -->\n`
  );
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
