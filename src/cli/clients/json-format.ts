import type { Node, ParseError } from 'jsonc-parser';
import { isObject } from '../../config/overrides.ts';
import { type Entry, type EntryFormat, serverName } from './clients.ts';

type Jsonc = typeof import('jsonc-parser');

const options = { allowTrailingComma: true };

/** Edits a JSON file, with or without comments, that has servers in `key`. */
export function jsonFormat(jsonc: Jsonc, key: string): EntryFormat {
  const at = (root: Node, ...path: string[]): Node | undefined =>
    jsonc.findNodeAtLocation(root, path);

  const add = (text: string | undefined, entry: Entry): string => {
    const servers = { [serverName]: entry };
    const whole = { [key]: servers };
    if (text === undefined || text.trim() === '') return newText(text, whole);
    const root = rootOf(jsonc, text);
    const existing = at(root, key);
    return existing
      ? withProperty(text, existing, { name: serverName, value: entry })
      : withProperty(text, root, { name: key, value: servers });
  };

  return {
    key,
    add,
    read: (text) => {
      if (text.trim() === '') return undefined;
      const root = rootOf(jsonc, text);
      if (root.type !== 'object') throw new Error('is not a JSON object');
      // Clients use the last duplicate, but an edit would change the first.
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
        return node ? replaceNode(now, node, inline(entry[name])) : now;
      }, text),
    originals: (text) => {
      const root = rootOf(jsonc, text);
      const end = root.offset + root.length;
      const servers = at(root, key);
      const entry = at(root, key, serverName)?.parent;
      if (!servers?.parent || !entry) return [];
      return [
        ...withoutMember(text, servers, entry),
        ...withoutMember(text, root, servers.parent),
        `${text.slice(0, root.offset)}${text.slice(end)}`,
        undefined
      ];
    },
    parse: (text) => (text.trim() === '' ? {} : jsonc.parse(text, [], options)),
    render: (entry) => `${pretty({ [key]: { [serverName]: entry } })}\n`
  };
}

/**
 * Parses a text to its root node.
 * @throws Error that names the line of a syntax error
 */
export function rootOf(jsonc: Jsonc, text: string): Node {
  const errors: ParseError[] = [];
  const root = jsonc.parseTree(text, errors, options);
  const [first] = errors;
  if (root && !first) return root;
  const line = text.slice(0, first?.offset ?? 0).split('\n').length;
  throw new Error(`is not valid JSON (line ${line})`);
}

/** A file with these properties alone, where there was none or a blank one. */
export function newText(blank: string | undefined, whole: object): string {
  return blank === undefined
    ? `${pretty(whole)}\n`
    : `${inline(whole)}${blank}`;
}

/** The names in an object, duplicates included. */
export function namesOf({ children = [] }: Node): unknown[] {
  return children.map((property) => property.children?.[0]?.value);
}

/** Replaces the source text of a node. */
export function replaceNode(text: string, node: Node, source: string): string {
  const end = node.offset + node.length;
  return `${text.slice(0, node.offset)}${source}${text.slice(end)}`;
}

type Render = (value: unknown) => string;

interface Property {
  name: string;
  value: unknown;
}

/** Adds a property at the end of an object, as `withMember` does. */
export function withProperty(
  text: string,
  object: Node,
  { name, value }: Property
): string {
  return withMember(
    text,
    object,
    (render) => `${JSON.stringify(name)}: ${render(value)}`
  );
}

/** Adds a value at the end of a list, as `withMember` does. */
export function withElement(text: string, list: Node, value: unknown): string {
  return withMember(text, list, (render) => render(value));
}

/**
 * Adds a member at the end of an object or a list and keeps every byte of the
 * text. The layout of the result depends on the original, so that
 * `withoutMember` can restore it.
 */
function withMember(
  text: string,
  container: Node,
  source: (render: Render) => string
): string {
  const { children = [] } = container;
  const last = children.at(-1);
  if (!last) return addToEmpty(text, container, source);
  const end = endOf(last);
  const comma = commaBehind(text, end, closeOf(container));
  const { point, isLine } = behindComments(text, comma ?? end);
  const indent = indentOf(text, last.offset);
  const isOnOneLine = !/\n/.test(text.slice(container.offset, last.offset));
  const lead = isOnOneLine && !isLine ? ' ' : `${newlineOf(text)}${indent}`;
  const added = `${lead}${source((one) =>
    isOnOneLine ? inline(one) : manyLines(text, indent, one)
  )}`;
  return comma === undefined
    ? `${text.slice(0, end)},${text.slice(end, point)}${added}${text.slice(point)}`
    : `${text.slice(0, point)}${added},${text.slice(point)}`;
}

/**
 * Candidates for the text before a member of an object or a list was added, the
 * likeliest first. Each keeps all comments and all other members.
 */
export function withoutMember(
  text: string,
  container: Node,
  member: Node
): string[] {
  const { children = [] } = container;
  const from = trimmedEnd(text, member.offset);
  const end = endOf(member);
  const comma = commaBehind(text, end, closeOf(container));
  const before = children[children.indexOf(member) - 1];
  const isLast = children.at(-1) === member;
  if (before && isLast && comma === undefined) {
    const old = commaBehind(text, endOf(before), from) ?? from;
    return [
      `${text.slice(0, old - 1)}${text.slice(old, from)}${text.slice(end)}`
    ];
  }
  const tail =
    comma === undefined
      ? text.slice(end)
      : `${text.slice(end, comma - 1)}${text.slice(comma)}`;
  const head = text.slice(0, from);
  if (children.length > 1) return [`${head}${tail}`];
  const base = indentOf(text, container.offset);
  return [new RegExp(`^\\r?\\n${base}`), /^\s*/, /^\r?\n/, /^/].map(
    (start) => `${head}${tail.replace(start, '')}`
  );
}

function addToEmpty(
  text: string,
  object: Node,
  source: (render: Render) => string
): string {
  const close = closeOf(object);
  const inside = text.slice(object.offset + 1, close);
  const kept = object.offset + 1 + inside.trimEnd().length;
  const blocks = /\/\*[\s\S]*?\*\//g;
  const isLine = /\/\/[^\n]*$/.test(inside.trimEnd().replace(blocks, ''));
  const newline = newlineOf(text);
  const base = indentOf(text, object.offset);
  const indent = `${base}${indentUnitOf(text)}`;
  const head = `${text.slice(0, kept)}${newline}${indent}`;
  const rest = text.slice(kept);
  if (!/\n/.test(text.slice(kept, close)))
    return `${head}${source(inline)}${newline}${base}${rest}`;
  const added = source((value) => manyLines(text, indent, value));
  return `${head}${added}${isLine ? '' : newline}${rest}`;
}

/** The offset after the next comma, if there is one. */
function commaBehind(
  text: string,
  from: number,
  close: number
): number | undefined {
  const trivia = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*,/;
  const found = trivia.exec(text.slice(from, close));
  return found ? from + found[0].length : undefined;
}

/**
 * The offset after the comments on the same line, which belong to the
 * property before them; `isLine` is true when one of them is a `//` comment.
 */
function behindComments(text: string, from: number) {
  const comments = /^([ \t]*(\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))+/;
  const found = comments.exec(text.slice(from))?.[0] ?? '';
  const isLine = /\/\//.test(found.replace(/\/\*.*?\*\//g, ''));
  return { point: from + found.length, isLine };
}

function trimmedEnd(text: string, offset: number): number {
  return text.slice(0, offset).trimEnd().length;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function closeOf(object: Node): number {
  return endOf(object) - 1;
}

/** The indentation of the line at an offset. */
function indentOf(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function indentUnitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
}

function newlineOf(text: string): string {
  return /\r\n/.test(text) ? '\r\n' : '\n';
}

function manyLines(text: string, indent: string, value: unknown): string {
  return pretty(value, indentUnitOf(text)).replaceAll(
    '\n',
    `${newlineOf(text)}${indent}`
  );
}

/**
 * Renders an object with a line for each property. A list is on one line,
 * unless it has objects.
 */
function pretty(value: unknown, unit = '  '): string {
  const indented = (inner: unknown) =>
    pretty(inner, unit).replaceAll('\n', `\n${unit}`);
  if (Array.isArray(value) && value.some(isObject))
    return `[\n${value.map((one) => `${unit}${indented(one)}`).join(',\n')}\n]`;
  if (!isObject(value) || Object.keys(value).length === 0) return inline(value);
  const lines = Object.entries(value).map(
    ([name, inner]) => `${unit}${JSON.stringify(name)}: ${indented(inner)}`
  );
  return `{\n${lines.join(',\n')}\n}`;
}

/** Renders a value on one line: `{"a": [1, 2]}`. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}: ${inline(inner)}`
  );
  return `{${parts.join(', ')}}`;
}
