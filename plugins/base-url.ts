/**
 * An address as an SDK wants it: some add the version to the path, some need
 * it there. Users write either.
 */
export function withVersion(baseUrl: string, version: string): string {
  const bare = baseUrl.replace(/\/+$/, '');
  return new URL(bare).pathname === '/' ? `${bare}/${version}` : bare;
}

export function withoutVersion(baseUrl: string, version: string): string {
  const bare = baseUrl.replace(/\/+$/, '');
  return bare.endsWith(`/${version}`)
    ? bare.slice(0, -version.length - 1)
    : bare;
}
