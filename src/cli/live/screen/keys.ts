/** Names of keys, by the sequences that terminals send for them. */
const names = new Map([
  ['\u001b[A', 'up'],
  ['\u001b[B', 'down'],
  ['\u001b[5~', 'page-up'],
  ['\u001b[6~', 'page-down'],
  ['\u001b[H', 'home'],
  ['\u001b[F', 'end'],
  ['\u001b[1~', 'home'],
  ['\u001b[4~', 'end'],
  ['\u001b[7~', 'home'],
  ['\u001b[8~', 'end'],
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\u001b', 'escape'],
  ['\u007f', 'backspace'],
  ['\b', 'backspace'],
  ['\u0003', 'ctrl-c'],
  ['\u001a', 'ctrl-z']
]);

const oneKey = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|\p{Cc}|\p{Any}/gu;

/**
 * The keys in the data of a terminal: a name such as `up`, or a character.
 * Unknown keys are left out.
 */
export function keysIn(text: string): string[] {
  return [...text.matchAll(oneKey)].flatMap(([key]) => {
    // Keypads and old terminals send O instead of [.
    const known = names.get(key.replace(/^\u001bO/, '\u001b['));
    if (known !== undefined) return [known];
    return /^\p{Cc}/u.test(key) ? [] : [key];
  });
}

/**
 * The sequence of a key may arrive in pieces over a slow line. After this time,
 * a lone Escape counts as the key Escape.
 */
const piecesMs = 50;

export class KeyReader {
  readonly #onKey: (key: string) => void;
  #partial = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(onKey: (key: string) => void) {
    this.#onKey = onKey;
  }

  take(data: string): void {
    clearTimeout(this.#timer);
    const text = `${this.#partial}${data}`;
    this.#partial = /\u001b(?:\[[0-9;]*|O)?$/.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - this.#partial.length);
    if (this.#partial !== '')
      this.#timer = setTimeout(() => this.#flush(), piecesMs);
    for (const key of keysIn(whole)) this.#onKey(key);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#partial = '';
  }

  #flush(): void {
    const text = this.#partial;
    this.#partial = '';
    for (const key of keysIn(text)) this.#onKey(key);
  }
}
