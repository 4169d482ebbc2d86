/**
 * The settings in TOML of the simple kind that clients have: tables, and keys,
 * plain or dotted,
 * with strings, numbers, booleans and lists of them on one line, which JSON
 * writes in the same way.
 * @throws where a line is anything else
 */
export function tomlTables(text: string): Map<string, Record<string, unknown>> {
  const tables = new Map<string, Record<string, unknown>>();
  let table = '';
  for (const line of text.split('\n')) {
    const row = line.trim();
    if (row === '' || row.startsWith('#')) continue;
    const [, name] = /^\[([\w."@-]+)\]$/.exec(row) ?? [];
    const [, key, value] = /^([\w.-]+)\s*=\s*(.+)$/.exec(row) ?? [];
    if (name !== undefined) {
      if (tables.has(name)) throw new Error(`[${name}] is there twice`);
      table = name;
      tables.set(name, {});
    } else if (key !== undefined && value !== undefined) {
      const entries = tables.get(table) ?? {};
      if (key in entries) throw new Error(`${key} is there twice`);
      tables.set(table, { ...entries, [key]: JSON.parse(value) });
    } else throw new Error(`no simple TOML: ${row}`);
  }
  return tables;
}
