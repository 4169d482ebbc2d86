import { closeSync, readSync } from 'node:fs';
import type { JournalFile, JournalFiles } from './journal-files.ts';

/** Lines of the journal that stand together in one file. */
export interface Block {
  /** A last line without newline may be there, whole or not. */
  text: string;
  /** Where it begins in the journal. */
  start: number;
  file: JournalFile;
  /** True of the first one of a file, which is what comes last in it. */
  isLast: boolean;
}

/** Most of the time a few records are asked for; one has up to 64 KB. */
const firstBytes = 32 * 1024;
const mostBytes = 256 * 1024;

/**
 * The journal from a place back to its beginning, block by block, so that
 * what is near costs the same however long the journal is.
 */
export function* blocksBack(
  files: JournalFiles,
  list: JournalFile[],
  from: number
): Generator<Block> {
  for (const file of [...list].reverse()) {
    const end = Math.min(file.size, from - file.start);
    const descriptor = end > 0 ? files.openNow(file) : undefined;
    if (descriptor === undefined) continue;
    try {
      for (const block of blocksOf(descriptor, end))
        yield { ...block, start: file.start + block.start, file };
    } finally {
      closeSync(descriptor);
    }
  }
}

function* blocksOf(
  descriptor: number,
  size: number
): Generator<Omit<Block, 'file'>> {
  let bytes = firstBytes;
  let end = size;
  while (end > 0) {
    const from = Math.max(0, end - bytes);
    const block = Buffer.alloc(end - from);
    const count = readSync(descriptor, block, 0, block.length, from);
    const cut = from === 0 ? 0 : block.indexOf(10) + 1;
    // Not one whole record may be in the first block. A line longer than
    // another one is none of ours.
    const isPart = from > 0 && (cut === 0 || cut === block.length);
    const isLast = end === size;
    if (!isPart || bytes > firstBytes) end = isPart ? from : from + cut;
    bytes = mostBytes;
    if (!isPart)
      yield { text: block.toString('utf8', cut, count), start: end, isLast };
  }
}
