import { keysIn } from './keys.ts';

/**
 * What a key sends may come in pieces, over a slow line. So long the rest is
 * waited for before a lone Escape is that key.
 */
const piecesMs = 50;

/** Keys of a terminal, one by one, of what it sends bit by bit. */
export class KeyReader {
  readonly #onKey: (key: string) => void;
  #begun = '';
  #patience: NodeJS.Timeout | undefined;

  constructor(onKey: (key: string) => void) {
    this.#onKey = onKey;
  }

  take(data: string): void {
    clearTimeout(this.#patience);
    const text = `${this.#begun}${data}`;
    this.#begun = /\u001b(?:\[[0-9;]*|O)?$/.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - this.#begun.length);
    if (this.#begun !== '')
      this.#patience = setTimeout(() => this.#takeBegun(), piecesMs);
    for (const key of keysIn(whole)) this.#onKey(key);
  }

  close(): void {
    clearTimeout(this.#patience);
    this.#begun = '';
  }

  #takeBegun(): void {
    const text = this.#begun;
    this.#begun = '';
    for (const key of keysIn(text)) this.#onKey(key);
  }
}
