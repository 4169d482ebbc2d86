import type { Node } from 'jsonc-parser';
import { isObject } from '../../config-overrides.ts';

/** A name with its value, as it is to stand in an object. */
export interface Property {
  name: string;
  value: unknown;
}

/**
 * A JSON text with one more property, as the last of one of its objects. No
 * byte that is there goes. How it looks tells what was there before, so that
 * `withoutProperty` can find the way back.
 */
export function withProperty(
  text: string,
  object: Node,
  { name, value }: Property
): string {
  const { children = [] } = object;
  const last = children.at(-1);
  const put = (render: (value: unknown) => string) =>
    `${JSON.stringify(name)}: ${render(value)}`;
  if (!last) return intoEmpty(text, object, put);
  const end = endOf(last);
  const comma = commaBehind(text, end, closeOf(object));
  const { point, isLine } = behindComments(text, comma ?? end);
  const indent = indentOf(text, last.offset);
  const onOneLine = !/\n/.test(text.slice(object.offset, last.offset));
  const lead = onOneLine && !isLine ? ' ' : `${newlineOf(text)}${indent}`;
  const added = `${lead}${put((one) =>
    onOneLine ? oneLine(one) : manyLines(text, indent, one)
  )}`;
  return comma === undefined
    ? `${text.slice(0, end)},${text.slice(end, point)}${added}${text.slice(point)}`
    : `${text.slice(0, point)}${added},${text.slice(point)}`;
}

/**
 * What the text may have been before the property was added, the likeliest
 * first; comments and all other properties are in each of them.
 */
export function withoutProperty(
  text: string,
  object: Node,
  property: Node
): string[] {
  const { children = [] } = object;
  const from = trimmedEnd(text, property.offset);
  const end = endOf(property);
  const comma = commaBehind(text, end, closeOf(object));
  const before = children[children.indexOf(property) - 1];
  const isLast = children.at(-1) === property;
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
  const base = indentOf(text, object.offset);
  return [new RegExp(`^\\r?\\n${base}`), /^\s*/, /^\r?\n/, /^/].map(
    (start) => `${head}${tail.replace(start, '')}`
  );
}

function intoEmpty(
  text: string,
  object: Node,
  put: (render: (value: unknown) => string) => string
): string {
  const close = closeOf(object);
  const inside = text.slice(object.offset + 1, close);
  const kept = object.offset + 1 + inside.trimEnd().length;
  const blocks = /\/\*[\s\S]*?\*\//g;
  const isLine = /\/\/[^\n]*$/.test(inside.trimEnd().replace(blocks, ''));
  const newline = newlineOf(text);
  const base = indentOf(text, object.offset);
  const indent = `${base}${unitOf(text)}`;
  const head = `${text.slice(0, kept)}${newline}${indent}`;
  const rest = text.slice(kept);
  if (!/\n/.test(text.slice(kept, close)))
    return `${head}${put(oneLine)}${newline}${base}${rest}`;
  const added = put((value) => manyLines(text, indent, value));
  return `${head}${added}${isLine ? '' : newline}${rest}`;
}

/** Offset behind the comma that follows, if one does. */
function commaBehind(
  text: string,
  from: number,
  close: number
): number | undefined {
  const trivia = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*,/;
  const found = trivia.exec(text.slice(from, close));
  return found ? from + found[0].length : undefined;
}

/** Behind the comments on the same line: they belong to what is before. */
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

/** White space that begins the line of a place. */
function indentOf(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
}

function newlineOf(text: string): string {
  return /\r\n/.test(text) ? '\r\n' : '\n';
}

function manyLines(text: string, indent: string, value: unknown): string {
  return pretty(value, unitOf(text)).replaceAll(
    '\n',
    `${newlineOf(text)}${indent}`
  );
}

/** An object on lines of its own; lists stay on one. */
export function pretty(value: unknown, unit = '  '): string {
  if (!isObject(value) || Object.keys(value).length === 0)
    return oneLine(value);
  const lines = Object.entries(value).map(
    ([name, inner]) =>
      `${unit}${JSON.stringify(name)}: ${pretty(inner, unit).replaceAll('\n', `\n${unit}`)}`
  );
  return `{\n${lines.join(',\n')}\n}`;
}

/** As people write it: `{"a": [1, 2]}`. */
export function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}: ${oneLine(inner)}`
  );
  return `{${parts.join(', ')}}`;
}
