import { lstatSync } from 'node:fs';
import { readIfExists } from './atomic-file.ts';

/**
 * What was read from files, until they change. For files that are replaced or
 * created whole, or only grow: the change of another kind of file may not show
 * in its size and times at once.
 */
export class KnownFiles<Value> {
  readonly #most: number;
  /** By path, the one that was read first at the beginning. */
  readonly #known = new Map<string, Known<Value>>();

  /** @param most number of files that are kept in memory */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param read reads the file, which may be gone by then
   * @param isKept whether to keep what was read; `quietMs` is the time for
   *   which the file has been seen unchanged
   */
  read(
    path: string,
    read: () => Value,
    isKept: (value: Value, quietMs: number) => boolean = () => true
  ): Value {
    const stamp = stampOf(path);
    const before = this.#known.get(path);
    const known = before?.stamp === stamp ? before : undefined;
    if (known?.kept) return known.kept.value;
    this.#known.delete(path);
    const now = performance.now();
    const value = read();
    // The stamp is older than what was read: a change in between shows later.
    if (stamp === undefined) return value;
    const since = known?.since ?? now;
    const kept = isKept(value, now - since) ? { value } : undefined;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#most && oldest !== undefined)
      this.#known.delete(oldest);
    this.#known.set(path, { stamp, since, kept });
    return value;
  }
}

/** What `readOnce` returns for a file that this process has just created. */
export function rememberText(path: string, text: string): void {
  if (text.length <= mostChars) texts.read(path, () => text);
}

interface Known<Value> {
  stamp: string;
  /** When the file was first seen with this stamp, by a monotonic clock. */
  since: number;
  kept: { value: Value } | undefined;
}

/** Longer texts are read each time. */
const mostChars = 16 * 1024;

const texts = new KnownFiles<string | undefined>(1000);

/**
 * Like `readIfExists`, for a file that stays as it is or only grows once
 * `isKept` is true of its text. It is then read again only if it has changed.
 */
export function readOnce(
  path: string,
  isKept: (text: string, quietMs: number) => boolean = () => true
): string | undefined {
  return texts.read(
    path,
    () => readIfExists(path),
    (text, quietMs) =>
      text !== undefined && text.length <= mostChars && isKept(text, quietMs)
  );
}

/** Undefined unless the path is a regular file. */
function stampOf(path: string): string | undefined {
  const file = lstatSync(path, { throwIfNoEntry: false });
  return file?.isFile()
    ? `${file.dev} ${file.ino} ${file.size} ${file.ctimeMs}`
    : undefined;
}
