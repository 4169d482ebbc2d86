/**
 * Controls other than newline and tab, and direction marks: characters that can
 * control a terminal or show text in another order.
 */
const controls =
  /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Makes untrusted text safe for a view or a terminal. C0 and DEL become control
 * pictures (`␛`), C1 and direction marks become escapes (`\u009b`, `\u202e`),
 * a Windows line end becomes a newline. A second call changes nothing.
 */
export function visibleText(text: string): string {
  return text.replace(controls, (found) => {
    if (found === '\r\n') return '\n';
    const code = found.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : escaped(code);
  });
}

/** Control characters, invisible ones, and marks of the text direction. */
const unsafe =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

const colors = /\u001b\[[0-9;]*m/g;

/** An untrusted text on one line, safe to show to a person. */
export function terminalLine(text: string): string {
  return text.replace(colors, '').replace(unsafe, ' ').trim();
}

/**
 * The output of a program as a reader sees it: without colors, links and other
 * escapes, and with overstruck characters (as `man` prints them) once.
 */
export function plainText(output: string): string {
  return output
    .replace(titlesAndLinks, '')
    .replace(controlSequences, '')
    .replace(otherEscapes, '')
    .replace(overstruck, '')
    .replace(otherControls, '');
}

const titlesAndLinks = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
const controlSequences = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const otherEscapes = /\u001b[ -/]*[0-~]/g;
const overstruck = /[^\n]\u0008(?=\S)/g;
const otherControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** JSON of a value, in which the characters of `visibleText` are escaped. */
export function visibleJson(value: unknown, spaces?: number): string {
  return JSON.stringify(value, null, spaces).replace(controls, (found) =>
    escaped(found.charCodeAt(0))
  );
}

/** A text on one line, with single spaces. */
export function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** The lines of a text as one line, separated by semicolons. */
export function joinLines(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, '; ');
}

/** `1,234,567` */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/**
 * A text of at most so many characters. A cut one ends with a whole word, where
 * it has several: half a secret is not recognized as one, and stays readable.
 */
export function cutAtWord(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return withoutHalfWord(`${text.slice(0, chars - 1)}…`);
}

/**
 * A text that was cut, as `…` at its end says, without its last word. Secrets
 * are ASCII, so a text of a script without blanks keeps its end.
 */
export function withoutHalfWord(text: string): string {
  return text.replace(/(?<=[^!-~])[!-~]*…$|[\ud800-\udbff](?=…$)/, (found) =>
    found.endsWith('…') ? '…' : ''
  );
}

/** A caller's name for a message, cut after `chars` UTF-16 code units. */
export function shortName(name: string, chars = 200): string {
  if (name.length <= chars) return name;
  // Strict clients reject JSON with half of a surrogate pair.
  return `${name.slice(0, chars).replace(/[\ud800-\udbff]$/, '')}…`;
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
