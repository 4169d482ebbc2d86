import { statSync } from 'node:fs';
import type { ViewPaths } from '../paths/paths.ts';
import { namesIn } from '../state/directories.ts';

/** Views that are there as long as no one deletes them. */
export interface ExpectedViews {
  /** Names of archive files, without their ending. */
  archive: string[];
  /** Agents that have a page. */
  pages: string[];
}

/** Notices deleted views: two stats while nothing changes in their folders. */
export class MissingViews {
  readonly #paths: ViewPaths;
  #expected: ExpectedViews = { archive: [], pages: [] };
  #stamp: string | undefined;

  constructor(paths: ViewPaths) {
    this.#paths = paths;
  }

  expect(expected: ExpectedViews): void {
    this.#expected = expected;
    this.#stamp = undefined;
  }

  find(): ExpectedViews {
    const stamp = this.#look();
    if (stamp === this.#stamp) return { archive: [], pages: [] };
    const archived = namesIn(this.#paths.archive);
    const pages = new Set(namesIn(this.#paths.agents));
    const expected = this.#expected;
    const missing = {
      archive: expected.archive.filter(
        (stem) => !archived.some((name) => name.startsWith(`${stem}.`))
      ),
      pages: expected.pages.filter((id) => !pages.has(`${id}.md`))
    };
    const isAll = missing.archive.length + missing.pages.length === 0;
    this.#stamp = isAll ? stamp : undefined;
    return missing;
  }

  #look(): string {
    return [this.#paths.archive, this.#paths.agents]
      .map((path) => {
        const there = statSync(path, { throwIfNoEntry: false });
        return there ? `${there.ino} ${there.mtimeMs}` : '';
      })
      .join();
  }
}
