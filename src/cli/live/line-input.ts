import { visibleText } from '../../core/text.ts';
import { shorten, widthOf } from '../output/text.ts';

interface InputUser {
  /** Printed before the text. */
  label: string;
  onChange?: (text: string) => void;
  onEnter?: (text: string) => void;
}

/** One line of text that the user types; Enter ends it, and Esc drops it. */
export class LineInput {
  readonly #user: InputUser;
  #text = '';

  constructor(user: InputUser) {
    this.#user = user;
  }

  /** @returns whether the input has ended */
  onKey(key: string): boolean {
    if (key === 'enter') this.#user.onEnter?.(this.#text);
    else if (key === 'escape') this.#set('');
    else if (key === 'backspace')
      this.#set([...this.#text].slice(0, -1).join(''));
    else if ([...key].length === 1) this.add(key);
    return key === 'enter' || key === 'escape';
  }

  /** Adds pasted text, whose lines become one. */
  add(text: string): void {
    this.#set(this.#text + text.replace(/\s+/g, ' '));
  }

  render(columns: number): string {
    const { label } = this.#user;
    const room = Math.max(1, columns - widthOf(label) - 1);
    const text = endWithin(visibleText(this.#text), room);
    return shorten(`${label}${text}_`, columns);
  }

  #set(text: string): void {
    this.#text = text;
    this.#user.onChange?.(text);
  }
}

/** The end of a text that is too wide, since the user types there. */
function endWithin(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let shown = '';
  for (const character of [...text].reverse()) {
    if (widthOf(character + shown) >= columns) break;
    shown = character + shown;
  }
  return `…${shown}`;
}
