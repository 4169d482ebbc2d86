import { isObject } from '../../config-overrides.ts';
import { messageOf } from '../../core/errors.ts';
import { type Entry, type EntryFormat, serverName } from './entry-format.ts';

type Toml = typeof import('smol-toml');

const table = `[mcp_servers.${serverName}]`;
const ours =
  /^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*["']?agents["']?[ \t]*[.\]]/m;

/**
 * A TOML file, edited between the headings of its tables. Whether that was
 * right is for the caller to see, by what the parser makes of it.
 */
export function tomlFormat(toml: Toml): EntryFormat {
  const parse = (text: string): unknown =>
    toml.parse(text, { integersAsBigInt: 'asNeeded' });

  /** Offsets of our tables: of each heading, and behind its last value. */
  const regionsOf = (text: string): [number, number][] => {
    const starts = linesOf(text);
    return (
      starts
        .filter((start) => ours.test(lineAt(text, start)))
        // A line of a text may look as a heading does.
        .filter((start) => canParse(text.slice(0, start)))
        .map((start) => {
          const ends = starts.filter(
            (end) => end > start && /^[ \t]*\[/.test(lineAt(text, end))
          );
          // A line in a list may begin as a heading does.
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
      // A file whose last line has no end keeps to that: so it is known.
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
    befores: (text) => {
      const [first, ...others] = regionsOf(text);
      if (!first) return [];
      const bare = others.reduceRight(
        (now, region) => withoutTable(now, region),
        text
      );
      const [start, end] = first;
      const head = bare.slice(0, start);
      const tail = bare.slice(end);
      const onward = tail.replace(/^\r?\n/, '');
      return [
        withoutTable(bare, first),
        `${head.replace(/\r?\n\r?\n$/, '')}${tail}`,
        `${head}${onward}`,
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
    throw new Error(`is no TOML that can be read (${reason})`);
  }
}

/** The text without a table, and without an empty line before it. */
function withoutTable(text: string, [start, end]: [number, number]): string {
  const head = text.slice(0, start).replace(/(^|\n)\r?\n$/, '$1');
  return `${head}${text.slice(end).replace(/^\r?\n/, '')}`;
}

/** Comments before the next heading belong to that. */
function endOfValues(text: string, start: number, end: number): number {
  const idle = /\n[ \t]*(#[^\n]*)?$/;
  let region = text.slice(start, end);
  while (idle.test(region)) region = region.replace(idle, '');
  return start + region.replace(/\r$/, '').length;
}

/** Where each line begins. */
function linesOf(text: string): number[] {
  return [...text.matchAll(/^/gm)].map(({ index }) => index);
}

function lineAt(text: string, start: number): string {
  return /^[^\n]*/.exec(text.slice(start))?.[0] ?? '';
}

/** JSON's strings and numbers are TOML's, too. */
function tomlOf(entry: Entry): string[] {
  const lines = Object.entries(entry).map(
    ([name, value]) => `${name} = ${tomlValue(value)}`
  );
  return [table, ...lines];
}

function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const parts = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)} = ${tomlValue(inner)}`
  );
  return `{ ${parts.join(', ')} }`;
}
