const letters = 'abcdefghijklmnopqrstuvwxyz';
const safe = `${letters}${letters.toUpperCase()}0123456789_.-`;

/**
 * A name that can stand in the name of a file; other characters become dashes.
 * Without regular expressions, which V8 compiles at their second use: avoiding
 * that saves each start about 1 MB.
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
