import { createHash } from 'node:crypto';
import { bytesIfThere } from '../files/atomic-file.ts';

/** SHA-256 digests in hex, by file path. */
export type Digests = Record<string, string>;

export function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Current digests; `absent` or `unreadable` for files without content. */
export function digestsOf(files: string[]): Digests {
  return Object.fromEntries(files.map((file) => [file, digestNow(file)]));
}

function digestNow(file: string): string {
  try {
    const bytes = bytesIfThere(file);
    return bytes === undefined ? 'absent' : digestOf(bytes);
  } catch {
    return 'unreadable';
  }
}

/** Whether `known` contains every file with the same digest. */
export function areAmong(files: Digests, known: Digests): boolean {
  return Object.entries(files).every(
    ([file, digest]) => Object.hasOwn(known, file) && known[file] === digest
  );
}

/** The first file whose digest has changed; undefined when none has. */
export function changedSince(known: Digests): string | undefined {
  return Object.entries(known).find(
    ([file, digest]) => digestNow(file) !== digest
  )?.[0];
}
