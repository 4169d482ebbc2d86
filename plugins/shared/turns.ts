import type { Turn } from '../../src/plugin/plugin.ts';
import { record, records, text } from './json-fields.ts';

/** A call of a tool; its input is the argument that describes it, else JSON. */
export function callTurn(id: unknown, name: unknown, input: unknown): Turn {
  return {
    kind: 'tool',
    ...idOf(id),
    name: text(name) || 'tool',
    input: inputOf(input)
  };
}

export function resultTurn(id: unknown, said: string, isError: boolean): Turn {
  return {
    kind: 'result',
    ...idOf(id),
    text: said,
    ...(isError && { isError: true })
  };
}

/** Nothing for an empty text, or for a value that is no text. */
export function saidTurns(
  kind: 'text' | 'thinking' | 'notice',
  value: unknown
): Turn[] {
  const said = text(value);
  return said.trim() === '' ? [] : [{ kind, text: said }];
}

/** A streamed piece, which may be a line end. */
export function pieceTurns(kind: 'text' | 'thinking', value: unknown): Turn[] {
  const said = text(value);
  return said === '' ? [] : [{ kind, text: said, isPiece: true }];
}

/** Marks the turns of a nested agent. */
export function nestedIn(id: unknown, turns: Turn[]): Turn[] {
  const within = text(id);
  return within === '' ? turns : turns.map((turn) => ({ ...turn, within }));
}

/** The text in a list of content blocks, as several APIs return it. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return records(content)
    .map((block) => text(block.text) || `[${text(block.type) || 'data'}]`)
    .join('\n');
}

export function idOf(value: unknown): { id?: string } {
  const id = text(value);
  return id === '' ? {} : { id };
}

/** What a call is about; a search has a place, too. */
const subjects = `command pattern globPattern query url file_path dir_path path
  agent_name description`.split(/\s+/);

function inputOf(input: unknown): string {
  if (typeof input === 'string') return input;
  const fields = record(input);
  const subject = subjects.find((field) => text(fields[field]) !== '');
  if (subject === undefined)
    return Object.keys(fields).length === 0 ? '' : JSON.stringify(fields);
  const place = text(fields.dir_path) || text(fields.path);
  const isSearch = ['pattern', 'globPattern', 'query'].includes(subject);
  const said = text(fields[subject]);
  return isSearch && place !== '' ? `${said} in ${place}` : said;
}
