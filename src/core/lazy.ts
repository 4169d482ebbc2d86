/**
 * Creates a value at its first use, so that a start needs no time and memory
 * for schemas that it does not use.
 */
export function lazy<Thing extends object>(make: () => Thing): () => Thing {
  let made: Thing | undefined;
  return () => (made ??= make());
}
