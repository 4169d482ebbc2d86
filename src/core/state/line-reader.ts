import { type FileHandle, open } from 'node:fs/promises';

const blockSize = 256 * 1024;

/**
 * Reads complete lines of a growing file, from where it stopped before. Bytes
 * stay bytes until a line is whole, so no character is ever cut in two. A
 * line above the limit is skipped: memory stays bounded whatever is written.
 * With `everyLine`, empty lines are told too, and long ones cut at the limit,
 * so that lines can be counted.
 */
export class LineReader {
  readonly #path: string;
  readonly #maximumLineBytes: number;
  readonly #everyLine: boolean;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #skipping = false;
  /** Bytes read so far. */
  offset: number;

  constructor(
    path: string,
    maximumLineBytes: number,
    offset = 0,
    everyLine = false
  ) {
    this.#path = path;
    this.#maximumLineBytes = maximumLineBytes;
    this.offset = offset;
    this.#everyLine = everyLine;
  }

  /**
   * Hands each new line to `onLine` and returns at the present end of file.
   * `final` also hands over a last line without newline.
   */
  async read(
    onLine: (line: string, endOffset: number) => void,
    final = false
  ): Promise<void> {
    const file = await open(this.#path, 'r').catch(() => undefined);
    if (!file) return;
    try {
      await this.#readBlocks(file, onLine);
    } finally {
      await file.close();
    }
    if (final && this.#pendingBytes > 0) this.#finish(onLine, this.offset);
  }

  async #readBlocks(
    file: FileHandle,
    onLine: (line: string, endOffset: number) => void
  ): Promise<void> {
    for (;;) {
      const block = Buffer.allocUnsafe(blockSize);
      const { bytesRead } = await file.read(block, 0, blockSize, this.offset);
      if (bytesRead === 0) return;
      let start = 0;
      for (;;) {
        const newline = block.subarray(0, bytesRead).indexOf(10, start);
        if (newline < 0) break;
        this.#append(block.subarray(start, newline));
        this.#finish(onLine, this.offset + newline + 1);
        start = newline + 1;
      }
      // A copy: the rest may wait long, and would hold the whole block.
      this.#append(Buffer.from(block.subarray(start, bytesRead)));
      this.offset += bytesRead;
    }
  }

  #append(bytes: Buffer): void {
    if (this.#skipping || bytes.length === 0) return;
    const room = this.#maximumLineBytes - this.#pendingBytes;
    this.#skipping = bytes.length > room;
    if (this.#skipping && !this.#everyLine) this.#drop();
    else this.#pending.push(bytes.subarray(0, room));
    this.#pendingBytes += bytes.length;
  }

  #finish(
    onLine: (line: string, endOffset: number) => void,
    endOffset: number
  ): void {
    const skipped = this.#skipping && !this.#everyLine;
    const whole = skipped ? undefined : Buffer.concat(this.#pending);
    this.#skipping = false;
    this.#drop();
    if (whole && (this.#everyLine || whole.length > 0))
      onLine(whole.toString('utf8'), endOffset);
  }

  #drop(): void {
    this.#pending = [];
    this.#pendingBytes = 0;
  }
}
