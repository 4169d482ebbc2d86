/**
 * True for `$NAME` and `${NAME}`: what a client hands on that could not put
 * the value of a variable in. It is no value, and no secret either.
 */
export function isPlaceholder(value: string): boolean {
  return /^\s*\$(\w+|\{.*\})\s*$/.test(value);
}
