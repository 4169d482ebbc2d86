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

/** Terminals put pasted text between these, if a program asks for it. */
const pasteBegins = '\u001b[200~';
const pasteEnds = '\u001b[201~';

export interface KeyUser {
  onKey: (key: string) => void;
  /** Gets pasted text; without it, the text is dropped. */
  onPaste?: (text: string) => void;
}

export class KeyReader {
  readonly #user: KeyUser;
  #partial = '';
  /** Pasted text whose end has not arrived. */
  #pasted: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(user: KeyUser) {
    this.#user = user;
  }

  take(data: string): void {
    clearTimeout(this.#timer);
    if (this.#pasted !== undefined) this.#takePasted(data);
    else this.#takeKeys(`${this.#partial}${data}`);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#partial = '';
  }

  #takeKeys(text: string): void {
    const begin = text.indexOf(pasteBegins);
    const keys = begin < 0 ? text : text.slice(0, begin);
    this.#partial = /\u001b(?:\[[0-9;]*|O)?$/.exec(keys)?.[0] ?? '';
    if (this.#partial !== '')
      this.#timer = setTimeout(() => this.#flush(), piecesMs);
    this.#report(keys.slice(0, keys.length - this.#partial.length));
    if (begin < 0) return;
    this.#pasted = '';
    this.#takePasted(text.slice(begin + pasteBegins.length));
  }

  #takePasted(data: string): void {
    const text = `${this.#pasted}${data}`;
    const [pasted = '', ...rest] = text.split(pasteEnds);
    this.#pasted = rest.length > 0 ? undefined : text;
    if (rest.length === 0) return;
    this.#user.onPaste?.(pasted);
    this.take(rest.join(pasteEnds));
  }

  #flush(): void {
    const text = this.#partial;
    this.#partial = '';
    this.#report(text);
  }

  #report(text: string): void {
    for (const key of keysIn(text)) this.#user.onKey(key);
  }
}
