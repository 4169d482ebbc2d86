import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { absentUnlessLimited } from '../../errors.ts';
import { openRegularAsync, ownReadFlags } from './regular-file.ts';

/** Small, because new text is usually short and hundreds of readers may run. */
const firstBytes = 16 * 1024;
/** A larger block does not fit into the CPU cache, which costs much time. */
const maximumBytes = 128 * 1024;
/** Bytes that are read before the event loop gets its turn. */
const turnBytes = 512 * 1024;

/** @param endOffset offset in bytes after the line and its newline */
type OnLine = (line: string, endOffset: number) => void;

/**
 * Reads complete lines of a growing file. Each call continues where the last
 * one stopped. Bytes are decoded once a line is complete, so no character is
 * split. To bound memory, a line above the limit is skipped. With `everyLine`,
 * the reader also passes on empty lines and truncates long ones, so that the
 * caller can count lines.
 */
export class LineReader {
  readonly #path: string;
  readonly #maximumLineBytes: number;
  readonly #everyLine: boolean;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #skipping = false;
  /** The offset in bytes up to which the file has been read. */
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
   * Passes each new line to `onLine` until the current end of the file. With
   * `final`, also passes on a last line without newline. A missing or
   * unreadable file counts as empty.
   * @throws the system's error when no more files can be opened
   */
  async read(onLine: OnLine, final = false): Promise<void> {
    const file = await openRegularAsync(this.#path, ownReadFlags).catch(
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

  /** Passes on a last line without newline if `isWhole` accepts it. */
  takeRest(
    onLine: OnLine,
    isWhole: (line: string) => boolean = () => true
  ): void {
    if (this.#pendingBytes === 0) return;
    if (isWhole(Buffer.concat(this.#pending).toString('utf8')))
      this.#finish(onLine, this.offset);
  }

  /**
   * Continues in an open file, which may have been renamed. Its blocks are read
   * synchronously, because a thread of the pool takes longer to answer than the
   * read takes.
   */
  async readFrom(file: FileHandle, onLine: OnLine): Promise<void> {
    // Reused to avoid garbage.
    let block = Buffer.allocUnsafe(firstBytes);
    let turnAt = this.offset + turnBytes;
    for (;;) {
      const room = block.length;
      const bytesRead = readSync(file.fd, block, 0, room, this.offset);
      if (bytesRead === 0) return;
      this.#take(block.subarray(0, bytesRead), onLine);
      if (bytesRead === room && room < maximumBytes)
        block = Buffer.allocUnsafe(Math.min(maximumBytes, 4 * room));
      if (this.offset < turnAt) continue;
      await yieldTurn();
      turnAt = this.offset + turnBytes;
    }
  }

  #take(bytes: Buffer, onLine: OnLine): void {
    let start = 0;
    for (;;) {
      const newline = bytes.indexOf(10, start);
      if (newline < 0) break;
      const end = this.offset + newline + 1;
      const length = newline - start;
      if (this.#pendingBytes === 0 && length <= this.#maximumLineBytes) {
        // The line is in this block, and needs no buffer of its own.
        if (this.#everyLine || length > 0)
          onLine(bytes.toString('utf8', start, newline), end);
      } else {
        this.#append(bytes.subarray(start, newline));
        this.#finish(onLine, end);
      }
      start = newline + 1;
    }
    // Copied, because the next read overwrites the block.
    this.#append(Buffer.from(bytes.subarray(start)));
    this.offset += bytes.length;
  }

  #append(bytes: Buffer): void {
    if (this.#skipping || bytes.length === 0) return;
    const room = this.#maximumLineBytes - this.#pendingBytes;
    this.#skipping = bytes.length > room;
    if (this.#skipping && !this.#everyLine) this.#drop();
    else this.#pending.push(bytes.subarray(0, room));
    this.#pendingBytes += bytes.length;
  }

  #finish(onLine: OnLine, endOffset: number): void {
    const skipped = this.#skipping && !this.#everyLine;
    const [only] = this.#pending;
    const parts = this.#pending.length;
    // Not copied: the line is decoded before the block is overwritten.
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
