import { closeSync, fstatSync, readdirSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readIfThere } from '../state/atomic-file.ts';
import { bytesBelow } from '../state/bytes-below.ts';
import { ensureDirectory } from '../state/directories.ts';
import { appendTo } from '../state/own-file.ts';
import { openRegular, ownReadFlags } from '../state/regular-file.ts';

/** Says that everything that was there has a line: see `#complete`. */
const wholeLine = 'whole';

/**
 * `counts/sizes` in the record: how many bytes each agent's folder had at its end, and when
 * it was cleaned away. A line is one append, so nobody needs a lock; of two
 * lines for one agent the later one counts.
 *
 *     1a2b3c4d 20480
 *     1a2b3c4d -20480 2026-11-21T08:11:25.000Z
 */
export class SizeLedger {
  readonly #path: string;
  readonly #spawns: string;
  readonly #sizes = new Map<string, number>();
  /** Of all sizes: every spawn asks, and there may be very many. */
  #sum = 0;
  #offset = 0;
  #isWhole = false;

  constructor(stateDirectory: string) {
    this.#path = join(stateDirectory, 'counts', 'sizes');
    this.#spawns = join(stateDirectory, 'spawns');
  }

  /** An agent has ended. Never throws: a full disk may not hold that up. */
  note(agentId: string): void {
    this.#append(() => `${agentId} ${this.#bytesOf(agentId)}`);
  }

  /** It was cleaned away. */
  noteGone(agentId: string, bytes: number, now = new Date()): void {
    this.#append(() => `${agentId} -${bytes} ${now.toISOString()}`);
  }

  /** When an agent was cleaned away; undefined for any other. */
  goneAt(agentId: string): string | undefined {
    if (!/^[0-9a-f]{8}$/.test(agentId)) return undefined;
    const text = readIfThere(this.#path) ?? '';
    // Most ids are no cleaned agent's.
    if (!text.includes(`\n${agentId} -`)) return undefined;
    const lines = text.matchAll(
      new RegExp(`^${agentId} (-?)\\d+(?: (\\S+))?$`, 'gm')
    );
    let at: string | undefined;
    for (const [, gone, time] of lines) at = gone ? (time ?? at) : undefined;
    return at;
  }

  /**
   * Bytes of all agents that have ended. Only what was added since the last
   * call is read; the first one ever in a workspace measures every folder.
   */
  total(): number {
    this.#read();
    if (!this.#isWhole) this.#complete();
    return this.#sum;
  }

  /** The same, when folders may be gone that nobody has cleaned away. */
  recount(): number {
    this.#read();
    const there = new Set(namesIn(this.#spawns));
    for (const [id, bytes] of this.#sizes)
      if (!there.has(id)) this.#append(() => `${id} -${bytes}`);
    return this.total();
  }

  #complete(): void {
    const missing = namesIn(this.#spawns).filter(
      (id) => !this.#sizes.has(id) && this.#hasEnded(id)
    );
    const lines = missing.map((id) => `${id} ${this.#bytesOf(id)}`);
    this.#append(() => [...lines, wholeLine].join('\n'));
    this.#isWhole = true;
    this.#read();
  }

  #hasEnded(id: string): boolean {
    return readIfThere(join(this.#spawns, id, 'outcome.json')) !== undefined;
  }

  #bytesOf(id: string): number {
    return bytesBelow(join(this.#spawns, id));
  }

  #append(line: () => string): void {
    try {
      // Newlines on both sides: a torn line spoils no other.
      ensureDirectory(dirname(this.#path));
      appendTo(this.#path, `\n${line()}\n`);
    } catch {
      // The next total is a little off.
    }
  }

  #read(): void {
    const text = this.#newText();
    for (const line of text.split('\n')) {
      const [, id, bytes] = /^([0-9a-f]{8}) (-?\d+)(?: |$)/.exec(line) ?? [];
      if (line === wholeLine) this.#isWhole = true;
      if (!id || !bytes) continue;
      this.#sum -= this.#sizes.get(id) ?? 0;
      if (bytes.startsWith('-')) this.#sizes.delete(id);
      else {
        this.#sizes.set(id, Number(bytes));
        this.#sum += Number(bytes);
      }
    }
  }

  /** Whole lines since the last time. */
  #newText(): string {
    let descriptor: number;
    try {
      descriptor = openRegular(this.#path, ownReadFlags);
    } catch {
      this.#forget();
      return '';
    }
    try {
      const { size } = fstatSync(descriptor);
      // Somebody took it away: it begins anew.
      if (size < this.#offset) this.#forget();
      const block = Buffer.alloc(size - this.#offset);
      const count = readSync(descriptor, block, 0, block.length, this.#offset);
      const end = block.subarray(0, count).lastIndexOf(10) + 1;
      this.#offset += end;
      return block.subarray(0, end).toString('utf8');
    } finally {
      closeSync(descriptor);
    }
  }

  #forget(): void {
    this.#offset = 0;
    this.#isWhole = false;
    this.#sizes.clear();
    this.#sum = 0;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => /^[0-9a-f]{8}$/.test(name));
  } catch {
    return [];
  }
}
