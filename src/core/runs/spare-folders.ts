import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Pace } from '../pace.ts';
import { temporaryName, writeNew } from '../state/atomic-file.ts';
import { isRealDirectory } from '../state/directories.ts';
import { emptyExitFile, notStarting } from './run-files.ts';

/** So many agents may be spawned in one go and find theirs. */
const most = 8;

/**
 * Folders for agents to come, laid out but for what is asked of them. To make
 * one takes longer than to fill it in, so it is done while nobody waits. Who
 * spawns once only has none; those of a killed server go with other leftovers.
 */
export class SpareFolders {
  readonly #parent: string;
  readonly #spare: string[] = [];
  #taken = 0;
  #filling = false;
  #closed = false;

  constructor(parent: string) {
    this.#parent = parent;
  }

  /**
   * One for an agent, which the caller moves to its place or removes.
   * @throws the system's error when there is none and none can be made
   */
  take(): string {
    this.#taken += 1;
    for (;;) {
      const folder = this.#spare.pop();
      // Somebody may have tidied up since.
      if (folder === undefined) return layOut(this.#parent);
      if (isRealDirectory(folder)) return folder;
    }
  }

  /** Lays out as many as were taken before, one in a turn. Never rejects. */
  async fill(pace: Pace): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (this.#isWanted()) {
        await pace.later();
        if (this.#isWanted()) this.#spare.push(layOut(this.#parent));
      }
    } catch {
      // A full disk: the next agent is told, or finds room again.
    } finally {
      this.#filling = false;
    }
  }

  /** Removes them, for good. Never throws. */
  close(): void {
    this.#closed = true;
    try {
      for (const folder of this.#spare.splice(0))
        rmSync(folder, { recursive: true, force: true });
    } catch {
      // `removeLeftovers` takes them.
    }
  }

  #isWanted(): boolean {
    const wanted = Math.min(this.#taken - 1, most);
    return !this.#closed && this.#spare.length < wanted;
  }
}

function layOut(parent: string): string {
  const folder = temporaryName(join(parent, 'spare'));
  try {
    mkdirSync(folder, { mode: 0o700 });
    writeNew(join(folder, 'exit'), emptyExitFile);
    for (const name of filledIn) writeNew(join(folder, name), '');
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

const filledIn = [
  'prompt.txt',
  'record.json',
  'stdout',
  'stderr',
  'events.jsonl',
  notStarting
];
