import type { Node, ParseError } from 'jsonc-parser';
import { type Entry, type EntryFormat, serverName } from './entry-format.ts';
import {
  oneLine,
  pretty,
  withoutProperty,
  withProperty
} from './json-property.ts';

type Jsonc = typeof import('jsonc-parser');

const options = { allowTrailingComma: true };

/** A JSON file, which may have comments, with the servers under a key. */
export function jsonFormat(jsonc: Jsonc, key: string): EntryFormat {
  const at = (root: Node, ...path: string[]): Node | undefined =>
    jsonc.findNodeAtLocation(root, path);

  const add = (text: string | undefined, entry: Entry): string => {
    const servers = { [serverName]: entry };
    const whole = { [key]: servers };
    if (text === undefined) return `${pretty(whole)}\n`;
    if (text.trim() === '') return `${oneLine(whole)}${text}`;
    const root = rootOf(jsonc, text);
    const there = at(root, key);
    return there
      ? withProperty(text, there, { name: serverName, value: entry })
      : withProperty(text, root, { name: key, value: servers });
  };

  return {
    key,
    add,
    read: (text) => {
      if (text.trim() === '') return undefined;
      const root = rootOf(jsonc, text);
      if (root.type !== 'object') throw new Error('is no JSON object');
      // Programs take the last one, and we would write into the first.
      if (namesOf(root).filter((name) => name === key).length > 1)
        throw new Error(`has "${key}" more than once`);
      const servers = at(root, key);
      if (servers && servers.type !== 'object')
        throw new Error(`has no object as "${key}"`);
      const entry = at(root, key, serverName);
      return entry && jsonc.getNodeValue(entry);
    },
    relaunch: (text, entry) =>
      ['args', 'command'].reduce((now, name) => {
        const node = at(rootOf(jsonc, now), key, serverName, name);
        return node ? putIn(now, node, oneLine(entry[name])) : now;
      }, text),
    befores: (text) => {
      const root = rootOf(jsonc, text);
      const end = root.offset + root.length;
      const servers = at(root, key);
      const entry = at(root, key, serverName)?.parent;
      if (!servers?.parent || !entry) return [];
      const isAlone = servers.children?.length === 1;
      return [
        ...withoutProperty(text, servers, entry),
        ...(isAlone ? withoutProperty(text, root, servers.parent) : []),
        `${text.slice(0, root.offset)}${text.slice(end)}`,
        undefined
      ];
    },
    parse: (text) => (text.trim() === '' ? {} : jsonc.parse(text, [], options)),
    render: (entry) => `${pretty({ [key]: { [serverName]: entry } })}\n`
  };
}

/**
 * The text's only value.
 * @throws Error that says why there is none
 */
export function rootOf(jsonc: Jsonc, text: string): Node {
  const errors: ParseError[] = [];
  const root = jsonc.parseTree(text, errors, options);
  const [first] = errors;
  if (root && !first) return root;
  const line = text.slice(0, first?.offset ?? 0).split('\n').length;
  throw new Error(`is no JSON that can be read (line ${line})`);
}

function namesOf({ children = [] }: Node): unknown[] {
  return children.map((property) => property.children?.[0]?.value);
}

/** A text with other words in the place of a value. */
export function putIn(text: string, node: Node, words: string): string {
  const end = node.offset + node.length;
  return `${text.slice(0, node.offset)}${words}${text.slice(end)}`;
}
