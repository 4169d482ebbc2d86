/**
 * Makes something when it is first asked for. A start that has no need of
 * the schemas of a file is sooner and smaller without them.
 */
export function lazily<Thing extends object>(make: () => Thing): () => Thing {
  let made: Thing | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
