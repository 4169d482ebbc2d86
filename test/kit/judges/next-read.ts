import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished, vi } from 'vitest';

const fs = process.getBuiltinModule('node:fs');
const { readFileSync } = fs;

type Read = () => string;

/** What answers the next reads of a file, in their order. */
const due = new Map<string, ((read: Read) => string)[]>();
/** All reads since the first call of a test, by path. */
let paths: string[] = [];

/** Follows the reads of whole files by this process until the test ends. */
export function watchReads(): string[] {
  if (vi.isMockFunction(fs.readFileSync)) return paths;
  paths = [];
  const watched = vi.spyOn(fs, 'readFileSync');
  watched.mockImplementation((path, options) => {
    paths.push(String(path));
    const answer = due.get(String(path))?.shift();
    return answer
      ? answer(() => readFileSync(path, 'utf8'))
      : readFileSync(path, options);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    watched.mockRestore();
    syncBuiltinESMExports();
    due.clear();
  });
  return paths;
}

/**
 * Answers the next read of a file, after those that are due already: a moment
 * that is otherwise hard to hit. `answer` may read the file, before or after
 * another process has acted.
 */
export function atNextRead(path: string, answer: (read: Read) => string): void {
  watchReads();
  due.set(path, [...(due.get(path) ?? []), answer]);
}
