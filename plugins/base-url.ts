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

/** For an SDK that wants them apart, and has a version of its own. */
export function splitVersion(baseUrl: string): {
  baseUrl: string;
  apiVersion?: string;
} {
  const bare = baseUrl.replace(/\/+$/, '');
  const apiVersion = /\/(v1(?:alpha|beta)?)$/.exec(bare)?.[1];
  return apiVersion === undefined
    ? { baseUrl: bare }
    : { baseUrl: withoutVersion(bare, apiVersion), apiVersion };
}
