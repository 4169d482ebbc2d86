import { createHash } from 'node:crypto';
import { bytesIfThere } from './atomic-file.ts';

/** SHA-256 of the content of files, by path. */
export type Digests = Record<string, string>;

export function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Of files as they are now. A missing or unreadable file has a digest too. */
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

/** Whether every file has the digest that the other list has for it. */
export function areAmong(files: Digests, known: Digests): boolean {
  return Object.entries(files).every(
    ([file, digest]) => Object.hasOwn(known, file) && known[file] === digest
  );
}

/** The first of the files that no longer holds what it held. */
export function changedSince(known: Digests): string | undefined {
  return Object.entries(known).find(
    ([file, digest]) => digestNow(file) !== digest
  )?.[0];
}
