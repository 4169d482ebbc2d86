import { visibleText } from '../core/text.ts';

/** Markup, in which every text is escaped. Only `html` makes it. */
export class Html {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static of(strings: readonly string[], values: HtmlValue[]): Html {
    const parts = strings.flatMap((text, index) => [
      text,
      index < values.length ? partOf(values[index]) : ''
    ]);
    return new Html(parts.join(''));
  }

  toString(): string {
    return this.#text;
  }
}

/** `false` and `undefined` are left out. */
export type HtmlValue =
  | Html
  | string
  | number
  | false
  | undefined
  | HtmlValue[];

/**
 * Markup from a template whose values are escaped, for text between tags and in
 * quoted attributes. There is no way to insert a text as markup.
 */
export function html(
  strings: TemplateStringsArray,
  ...values: HtmlValue[]
): Html {
  return Html.of(strings, values);
}

/**
 * A text as it is shown: control characters and direction marks are visible,
 * and characters with a meaning in HTML are references.
 */
function escapeHtml(text: string): string {
  // Half of a surrogate pair has no encoding.
  return visibleText(text.replace(/\p{Cs}/gu, '\ufffd')).replace(
    /[&<>"'`]/g,
    (character) => `&#${character.charCodeAt(0)};`
  );
}

function partOf(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (Array.isArray(value)) return value.map(partOf).join('');
  return value instanceof Html ? value.toString() : escapeHtml(`${value}`);
}
