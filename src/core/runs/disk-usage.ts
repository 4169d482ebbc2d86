import {
  closeSync,
  existsSync,
  fstatSync,
  readdirSync,
  readSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { readIfExists, writeAll } from '../state/files/atomic-file.ts';
import { bytesBelow, ensureDirectory } from '../state/files/directories.ts';
import { KeptFile } from '../state/files/own-file.ts';
import { openRegular, ownReadFlags } from '../state/files/regular-file.ts';
import { isAgentId } from './run.ts';

/** Marks a ledger that includes all agents that ended before it existed. */
const completeLine = 'whole';

/**
 * The ledger `counts/sizes` in the record: the size in bytes of each agent's
 * folder at its end, and the time when it was cleaned away. Each line is
 * written with one append, so no lock is needed. The last line of an agent
 * counts.
 *
 *     1a2b3c4d 20480
 *     1a2b3c4d -20480 2026-11-21T08:11:25.000Z
 */
export class DiskUsage {
  readonly #path: string;
  readonly #file: KeptFile;
  readonly #spawns: string;
  readonly #sizes = new Map<string, number>();
  /** The sum of `#sizes`, kept because every spawn needs it. */
  #sum = 0;
  #offset = 0;
  #isComplete = false;

  constructor(stateDirectory: string) {
    this.#path = join(stateDirectory, 'counts', 'sizes');
    this.#file = new KeptFile(this.#path);
    this.#spawns = join(stateDirectory, 'spawns');
  }

  /** Adds an agent that has ended. Never throws, not even on a full disk. */
  note(agentId: string): void {
    this.#append(() => `${agentId} ${this.#bytesOf(agentId)}`);
  }

  /** Records that an agent was cleaned away. Never throws. */
  noteGone(agentId: string, bytes: number, now = new Date()): void {
    this.#append(() => `${agentId} -${bytes} ${now.toISOString()}`);
  }

  /** ISO time when an agent was cleaned away; undefined for other agents. */
  goneAt(agentId: string): string | undefined {
    if (!isAgentId(agentId)) return undefined;
    const text = readIfExists(this.#path) ?? '';
    // A fast check first, because most agents were not cleaned away.
    if (!text.includes(`\n${agentId} -`)) return undefined;
    const lines = text.matchAll(
      new RegExp(`^${agentId} (-?)\\d+(?: (\\S+))?$`, 'gm')
    );
    let at: string | undefined;
    for (const [, gone, time] of lines) at = gone ? (time ?? at) : undefined;
    return at;
  }

  /**
   * Total bytes of all agents that have ended. Reads only the lines that were
   * added since the last call; the first call in a workspace measures every
   * folder.
   */
  total(): number {
    this.#read();
    if (!this.#isComplete) this.#complete();
    return this.#sum;
  }

  /** Like `total`, after subtracting folders removed without `noteGone`. */
  recount(): number {
    this.#read();
    const existing = new Set(namesIn(this.#spawns));
    for (const [id, bytes] of this.#sizes)
      if (!existing.has(id)) this.#append(() => `${id} -${bytes}`);
    return this.total();
  }

  #complete(): void {
    const missing = namesIn(this.#spawns).filter(
      (id) =>
        !this.#sizes.has(id) &&
        existsSync(join(this.#spawns, id, 'outcome.json'))
    );
    const lines = missing.map((id) => `${id} ${this.#bytesOf(id)}`);
    this.#append(() => [...lines, completeLine].join('\n'));
    this.#isComplete = true;
    this.#read();
  }

  #bytesOf(id: string): number {
    return bytesBelow(join(this.#spawns, id));
  }

  #append(line: () => string): void {
    try {
      // Newlines on both sides separate a torn line from the next one.
      ensureDirectory(dirname(this.#path));
      writeAll(this.#file.open(), `\n${line()}\n`);
    } catch {
      // The total is then slightly wrong.
    }
  }

  #read(): void {
    const text = this.#newText();
    for (const line of text.split('\n')) {
      const [, id, bytes] = /^([0-9a-f]{8}) (-?\d+)(?: |$)/.exec(line) ?? [];
      if (line === completeLine) this.#isComplete = true;
      if (!id || !bytes) continue;
      this.#sum -= this.#sizes.get(id) ?? 0;
      if (bytes.startsWith('-')) this.#sizes.delete(id);
      else {
        this.#sizes.set(id, Number(bytes));
        this.#sum += Number(bytes);
      }
    }
  }

  /** The complete lines that were added since the last call. */
  #newText(): string {
    let descriptor: number;
    try {
      descriptor = openRegular(this.#path, ownReadFlags);
    } catch {
      this.#reset();
      return '';
    }
    try {
      const { size } = fstatSync(descriptor);
      // The file was removed and created again.
      if (size < this.#offset) this.#reset();
      const block = Buffer.alloc(size - this.#offset);
      const count = readSync(descriptor, block, 0, block.length, this.#offset);
      const end = block.subarray(0, count).lastIndexOf(10) + 1;
      this.#offset += end;
      return block.subarray(0, end).toString('utf8');
    } finally {
      closeSync(descriptor);
    }
  }

  #reset(): void {
    this.#offset = 0;
    this.#isComplete = false;
    this.#sizes.clear();
    this.#sum = 0;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter(isAgentId);
  } catch {
    return [];
  }
}
