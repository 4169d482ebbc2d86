import type { FileHandle } from 'node:fs/promises';
import { absentUnlessLimited } from '../errors.ts';
import { openRegularLater, ownReadFlags } from './regular-file.ts';

/** What is new is little, as a rule, and hundreds may read at once. */
const firstBytes = 16 * 1024;
const mostBytes = 512 * 1024;

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
   * @throws when no file can be opened just now: that is no empty file
   */
  async read(
    onLine: (line: string, endOffset: number) => void,
    final = false
  ): Promise<void> {
    const file = await openRegularLater(this.#path, ownReadFlags).catch(
      absentUnlessLimited
    );
    if (!file) return;
    try {
      await this.readFrom(file, onLine);
    } finally {
      await file.close();
    }
    if (final) this.takeRest(onLine);
  }

  /** Hands over a last line without newline, if it is a whole one. */
  takeRest(
    onLine: (line: string, endOffset: number) => void,
    isWhole: (line: string) => boolean = () => true
  ): void {
    if (this.#pendingBytes === 0) return;
    if (isWhole(Buffer.concat(this.#pending).toString('utf8')))
      this.#finish(onLine, this.offset);
  }

  /** Reads on in a file that is open already, whatever its name is now. */
  async readFrom(
    file: FileHandle,
    onLine: (line: string, endOffset: number) => void
  ): Promise<void> {
    // One for all: of many files of many megabytes it would be much garbage.
    let block = Buffer.allocUnsafe(firstBytes);
    for (;;) {
      const room = block.length;
      const { bytesRead } = await file.read(block, 0, room, this.offset);
      if (bytesRead === 0) return;
      const bytes = block.subarray(0, bytesRead);
      let start = 0;
      for (;;) {
        const newline = bytes.indexOf(10, start);
        if (newline < 0) break;
        this.#append(bytes.subarray(start, newline));
        this.#finish(onLine, this.offset + newline + 1);
        start = newline + 1;
      }
      // A copy: the next bytes come into the same block.
      this.#append(Buffer.from(bytes.subarray(start)));
      this.offset += bytesRead;
      if (bytesRead === room && room < mostBytes)
        block = Buffer.allocUnsafe(Math.min(mostBytes, 4 * room));
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
    const [only] = this.#pending;
    const parts = this.#pending.length;
    // A line is told before its block is read into again.
    const line = only && parts === 1 ? only : Buffer.concat(this.#pending);
    const whole = skipped ? undefined : line;
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
