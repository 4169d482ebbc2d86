const letters = 'abcdefghijklmnopqrstuvwxyz';
const safe = `${letters}${letters.toUpperCase()}0123456789_.-`;

/**
 * A name that can stand in the name of a file; other characters become dashes.
 * Without regular expressions: V8 compiles them at their second use, which
 * costs each start 3 MB.
 */
export function asFileName(name: string): string {
  let text = '';
  for (const character of name)
    if (safe.includes(character)) text += character;
    else if (!text.endsWith('-')) text += '-';
  return text;
}

/** 8 lower-case hex digits, as ids have. */
export function isHexId(text: string): boolean {
  return (
    text.length === 8 &&
    [...text].every((digit) => '0123456789abcdef'.includes(digit))
  );
}
