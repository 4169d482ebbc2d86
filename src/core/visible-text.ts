/**
 * Controls other than newline and tab, and marks that turn the direction of
 * text: all that can steer a terminal or show words in another order.
 */
const steering =
  /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text of another author, for a view or a terminal: an escape sequence shows
 * as plain characters. C0 and DEL become control pictures (`␛`), C1 and
 * direction marks escapes (`\u009b`, `\u202e`). A Windows line end becomes a
 * newline. The result is the same when it is made visible again.
 */
export function visibleText(text: string): string {
  return text.replace(steering, (found) => {
    if (found === '\r\n') return '\n';
    const code = found.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : escaped(code);
  });
}

/** JSON of the same value that holds none of these characters itself. */
export function visibleJson(value: unknown, spaces?: number): string {
  return JSON.stringify(value, null, spaces).replace(steering, (found) =>
    escaped(found.charCodeAt(0))
  );
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
