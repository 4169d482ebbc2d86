import type { Access } from '../../plugin.ts';
import { messageOf } from '../errors.ts';

/** A brief that is put in front of a task. */
export interface Role {
  /** The file's name without `.md`. */
  id: string;
  /** For people; the id when the file names none. */
  name: string;
  /** Helps to choose; empty when the file has none. One line. */
  description: string;
  /** What the agent is told, trimmed at both ends. */
  body: string;
  model?: string;
  engine?: string;
  access?: Access;
}

/** Parses the YAML of a role's head; throws what is wrong with it. */
export type ParseYaml = (text: string) => unknown;

/** In characters. The parser's time grows with the square of the keys. */
const longestHead = 20_000;

/**
 * A role from its file: a head of YAML between two lines `---`, if there is
 * one, and the body. Keys that are not ours are passed over.
 * @throws Error that says what is wrong with the file
 */
export function parseRole(id: string, text: string, parse: ParseYaml): Role {
  if (id.startsWith('-')) throw new Error('its name begins with "-"');
  if (text.includes('\0')) throw new Error('it holds a NUL character');
  const { head, body } = split(text.replace(/^\uFEFF/, ''));
  const keys = head === undefined ? {} : keysOf(head, parse);
  const name = oneLine(textOf(keys, 'name') ?? '');
  const model = textOf(keys, 'model');
  const engine = textOf(keys, 'engine');
  const access = accessOf(keys);
  return {
    id,
    name: name === '' ? id : name,
    description: oneLine(textOf(keys, 'description') ?? ''),
    body: body.trim(),
    // In briefs written for other programs: the one of the session.
    ...(model === undefined || model === 'inherit' ? {} : { model }),
    ...(engine === undefined ? {} : { engine }),
    ...(access === undefined ? {} : { access })
  };
}

/**
 * Costs start-up time, so it is loaded for the first role. What it gives are
 * texts as they were written: a model named 4.10 is not 4.1.
 */
export async function loadYaml(): Promise<ParseYaml> {
  const { parse } = await import('yaml');
  return (text) =>
    parse(text, {
      schema: 'failsafe',
      customTags: ['null'],
      logLevel: 'error'
    });
}

function split(text: string): { head?: string; body: string } {
  const opening = /^---[ \t]*\r?\n/.exec(text);
  if (!opening) return { body: text };
  const rest = text.slice(opening[0].length);
  const closing = /(?:^|\n)---[ \t]*(?:\r?\n|$)/.exec(rest);
  if (!closing) throw new Error('its head has no closing line "---"');
  return {
    head: rest.slice(0, closing.index),
    body: rest.slice(closing.index + closing[0].length)
  };
}

function keysOf(head: string, parse: ParseYaml): Record<string, unknown> {
  if (head.length > longestHead)
    throw new Error(`its head is longer than ${longestHead} characters`);
  // With the line of "---", the parser counts lines as an editor does.
  const found = parsed(`\n${head}`, parse);
  if (found === null || found === undefined) return {};
  if (typeof found !== 'object' || Array.isArray(found))
    throw new Error('its head is no list of keys and values');
  return { ...found };
}

function parsed(head: string, parse: ParseYaml): unknown {
  try {
    return parse(head);
  } catch (error) {
    const [said = ''] = messageOf(error).split('\n');
    // Many briefs have such a description, which other programs let pass.
    const hint = /nested mappings/i.test(said)
      ? '; a text with ": " in it has to stand in quotes'
      : '';
    throw new Error(`${said.replace(/:$/, '')}${hint}`);
  }
}

/** @throws Error for a list, an object or binary data */
function textOf(
  keys: Record<string, unknown>,
  key: string
): string | undefined {
  const value = keys[key];
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw new Error(`its "${key}" is no text`);
  const text = value.trim();
  return text === '' ? undefined : text;
}

/** What limits an agent is never passed over. */
function accessOf(keys: Record<string, unknown>): Access | undefined {
  const asked = textOf(keys, 'access');
  if (asked === undefined) return undefined;
  const access = accesses.find((known) => known === asked);
  if (access) return access;
  throw new Error(`its "access" must be one of ${accesses.join(', ')}`);
}

const accesses: Access[] = ['read', 'write', 'full'];

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
