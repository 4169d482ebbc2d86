/** What is kept of either end of a line that is too long. */
const endBytes = 2048;

/** A line that is too long to be kept: its two ends. */
export interface LongLine {
  head: string;
  tail: string;
}

/**
 * Cuts a stream into lines, however it was cut into chunks. A line above the
 * limit is passed over in bounded memory, and the next one is read as usual.
 */
export class MessageLines {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #head: Buffer | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The lines that are whole with this chunk, without their ends. */
  *add(chunk: Buffer): Generator<string | LongLine> {
    let start = 0;
    for (;;) {
      const newline = chunk.indexOf(10, start);
      this.#keep(chunk.subarray(start, newline < 0 ? undefined : newline));
      if (newline < 0) return;
      yield this.#finish();
      start = newline + 1;
    }
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes <= this.#mostBytes && !this.#head) return;
    const all = Buffer.concat(this.#parts);
    this.#head ??= Buffer.from(all.subarray(0, endBytes));
    // A copy, as a part of a part would hold the whole.
    this.#parts = [Buffer.from(all.subarray(-endBytes))];
  }

  #finish(): string | LongLine {
    const rest = Buffer.concat(this.#parts).toString('utf8');
    const head = this.#head?.toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    this.#head = undefined;
    return head === undefined ? rest : { head, tail: rest };
  }
}
