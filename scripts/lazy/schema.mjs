/**
 * A schema of the SDK, created at its first use: the SDK has more than a
 * hundred, of which a start uses a third.
 */
export function lazySchema(create) {
  let schema;
  const use = () => {
    schema ??= create();
    return schema;
  };
  return new Proxy(
    {},
    {
      get: (_, key) => use()[key],
      has: (_, key) => key in use(),
      getPrototypeOf: () => Object.getPrototypeOf(use())
    }
  );
}
