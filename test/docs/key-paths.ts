/** `results[].files_changed[].path`, and all that lead there. */
export function keyPaths(value: unknown, path = ''): string[] {
  if (Array.isArray(value))
    return value.flatMap((part) => keyPaths(part, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = path === '' ? key : `${path}.${key}`;
    return [own, ...keyPaths(inner, own)];
  });
}
