/** Bytes to keep of each end of a line that is too long. */
const endBytes = 2048;

/** The two ends of a line that is too long. */
export interface LongLine {
  head: string;
  tail: string;
}

/** Splits a stream into lines. Keeps only the two ends of a long line. */
export class MessageLines {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #head: Buffer | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The lines that this chunk completes, without their line ends. */
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
    // A copy: a subarray would keep the whole buffer in memory.
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
