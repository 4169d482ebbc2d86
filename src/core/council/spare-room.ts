/** With less to hold than this part of it, room is given back. */
const leastUsed = 1 / 8;

/** So much is never worth giving back. */
const smallBytes = 256 * 1024;

/**
 * Room for the bytes of a long file that is looked at again and again: they
 * come to lie where those before the last ones were. Room that is made anew
 * each time is given back late, and makes a process several times as large.
 */
export class SpareRoom {
  #used = Buffer.alloc(0);
  #spare = Buffer.alloc(0);

  /** So many bytes, which may be those of an earlier call. */
  take(size: number): Buffer {
    const most = Math.max(size / leastUsed, smallBytes);
    if (this.#spare.length < size || this.#spare.length > most)
      this.#spare = Buffer.allocUnsafeSlow(Math.ceil(1.25 * size));
    return this.#spare.subarray(0, size);
  }

  /** What lies in the room that was taken last is not to be written over. */
  keep(bytes: Buffer): void {
    if (bytes.buffer !== this.#spare.buffer) return;
    [this.#used, this.#spare] = [this.#spare, this.#used];
  }
}
