import { closeSync, readSync } from 'node:fs';
import { type JournalRecord, maximumRecordBytes } from './journal.ts';
import type { JournalFile, JournalFiles } from './journal-files.ts';
import { parseRecord } from './parse-record.ts';

/** Where a record stands, so that it need not be kept. */
export interface RecordPlace {
  file: JournalFile;
  /** In the file. */
  end: number;
  bytes: number;
}

/**
 * A record that was read before.
 * @throws Error when it is not there any more
 */
export function recordAt(
  files: JournalFiles,
  { file, end, bytes }: RecordPlace
): JournalRecord {
  const descriptor = files.openNow(file);
  if (descriptor !== undefined)
    try {
      // Bytes that are no UTF-8 were longer as text than they are here.
      for (const length of [bytes + 1, maximumRecordBytes]) {
        const record = parseRecord(lastLine(descriptor, end, length));
        if (record) return record;
      }
    } finally {
      closeSync(descriptor);
    }
  throw new Error(`${file.path} was changed while it was read.`);
}

/** With or without its newline. */
function lastLine(descriptor: number, end: number, bytes: number): string {
  const start = Math.max(0, end - bytes);
  const block = Buffer.alloc(end - start);
  const count = readSync(descriptor, block, 0, block.length, start);
  const text = block.toString('utf8', 0, count).trimEnd();
  return text.slice(text.lastIndexOf('\n') + 1);
}
