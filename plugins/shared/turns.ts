import type { Turn } from '../../src/plugin/plugin.ts';
import { describing, isRecord, records, text } from './json-fields.ts';

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

function inputOf(input: unknown): string {
  if (typeof input === 'string') return input;
  const detail = describing(input);
  if (detail !== '') return detail;
  const isEmpty = !isRecord(input) || Object.keys(input).length === 0;
  return isEmpty ? '' : JSON.stringify(input);
}
