/** JSON's escapes are valid in TOML, except for DEL and lone surrogates. */
export function tomlString(value: string): string {
  const wellFormed = Buffer.from(value).toString();
  return JSON.stringify(wellFormed).replaceAll('\u007f', '\\u007f');
}

/** An inline table of values that are TOML already. */
export function tomlTable(members: Record<string, string>): string {
  const pairs = Object.entries(members).map(
    ([name, value]) => `${tomlString(name)}=${value}`
  );
  return `{${pairs.join(',')}}`;
}

export function tomlList(values: string[]): string {
  return `[${values.map(tomlString).join(',')}]`;
}
