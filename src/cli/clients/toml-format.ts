import { isObject } from '../../config/overrides.ts';
import { messageOf } from '../../core/errors.ts';
import { type Entry, type EntryFormat, serverName } from './clients.ts';

type Toml = typeof import('smol-toml');

const table = `[mcp_servers.${serverName}]`;
const ours =
  /^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*["']?agents["']?[ \t]*[.\]]/m;

/**
 * Edits a TOML file as text, from one table heading to the next. The caller
 * parses the result to verify each edit.
 */
export function tomlFormat(toml: Toml): EntryFormat {
  const parse = (text: string): unknown =>
    toml.parse(text, { integersAsBigInt: 'asNeeded' });

  /** The offsets of our tables, from the heading to after the last value. */
  const regionsOf = (text: string): [number, number][] => {
    const starts = linesOf(text);
    return (
      starts
        .filter((start) => ours.test(lineAt(text, start)))
        // A line of a multi-line string may look like a heading.
        .filter((start) => canParse(text.slice(0, start)))
        .map((start) => {
          const ends = starts.filter(
            (end) => end > start && /^[ \t]*\[/.test(lineAt(text, end))
          );
          // A line of an array may look like a heading.
          const end = [...ends, text.length].find((one) =>
            canParse(text.slice(start, one))
          );
          return [start, endOfValues(text, start, end ?? text.length)];
        })
    );
  };

  const canParse = (text: string): boolean => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };

  return {
    key: 'mcp_servers',
    parse,
    read: (text) => {
      const whole = parsed(() => parse(text));
      const servers = isObject(whole) ? whole.mcp_servers : undefined;
      return isObject(servers) ? servers[serverName] : undefined;
    },
    add: (text, entry) => {
      const newline = text?.includes('\r\n') ? '\r\n' : '\n';
      const added = tomlOf(entry).join(newline);
      if (text === undefined) return `${added}${newline}`;
      // Adds no final newline, so that `originals` can restore a text without.
      if (text === '') return added;
      return text.endsWith('\n')
        ? `${text}${newline}${added}${newline}`
        : `${text}${newline}${newline}${added}`;
    },
    relaunch: (text, entry) => {
      const [region] = regionsOf(text);
      if (!region) return text;
      const [start, end] = region;
      const changed = ['command', 'args'].reduce(
        (now, name) =>
          now.replace(
            new RegExp(`^([ \\t]*${name}[ \\t]*=[ \\t]*)[^\\r\\n]*`, 'm'),
            (_, head) => `${head}${tomlValue(entry[name])}`
          ),
        text.slice(start, end)
      );
      return `${text.slice(0, start)}${changed}${text.slice(end)}`;
    },
    originals: (text) => {
      const [first, ...others] = regionsOf(text);
      if (!first) return [];
      const bare = others.reduceRight(
        (now, region) => withoutTable(now, region),
        text
      );
      const [start, end] = first;
      const head = bare.slice(0, start);
      const tail = bare.slice(end);
      const rest = tail.replace(/^\r?\n/, '');
      return [
        withoutTable(bare, first),
        `${head.replace(/\r?\n\r?\n$/, '')}${tail}`,
        `${head}${rest}`,
        `${head}${tail}`,
        undefined
      ];
    },
    render: (entry) => `${tomlOf(entry).join('\n')}\n`
  };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const [reason = ''] = messageOf(error).split('\n');
    throw new Error(`is not valid TOML (${reason})`);
  }
}

/** The text without a table, and without an empty line before it. */
function withoutTable(text: string, [start, end]: [number, number]): string {
  const head = text.slice(0, start).replace(/(^|\n)\r?\n$/, '$1');
  return `${head}${text.slice(end).replace(/^\r?\n/, '')}`;
}

/** Leaves out final comments: they belong to the next heading. */
function endOfValues(text: string, start: number, end: number): number {
  const trailing = /\n[ \t]*(#[^\n]*)?$/;
  let region = text.slice(start, end);
  while (trailing.test(region)) region = region.replace(trailing, '');
  return start + region.replace(/\r$/, '').length;
}

/** The offset of each line. */
function linesOf(text: string): number[] {
  return [...text.matchAll(/^/gm)].map(({ index }) => index);
}

function lineAt(text: string, start: number): string {
  return /^[^\n]*/.exec(text.slice(start))?.[0] ?? '';
}

function tomlOf(entry: Entry): string[] {
  return [table, ...linesFor(entry)];
}

/** A line for each value; an object inside becomes dotted keys. */
function linesFor(object: Entry, prefix = ''): string[] {
  return Object.entries(object).flatMap(([name, value]) =>
    isObject(value)
      ? linesFor(value, `${prefix}${name}.`)
      : [`${prefix}${name} = ${tomlValue(value)}`]
  );
}

/** Strings and numbers of JSON are valid in TOML. */
function tomlValue(value: unknown): string {
  return Array.isArray(value)
    ? `[${value.map(tomlValue).join(', ')}]`
    : JSON.stringify(value);
}
