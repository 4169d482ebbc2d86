import type { Turn } from '../../src/plugin/plugin.ts';
import { type Fields, record, records, text } from '../shared/json-fields.ts';
import {
  callTurn,
  idOf,
  pieceTurns,
  resultTurn,
  saidTurns
} from '../shared/turns.ts';

/** The event `result` repeats all texts, so it adds nothing. */
export function cursorAgentTurns(event: unknown): Turn[] {
  const line = record(event);
  switch (line.type) {
    case 'assistant': {
      const blocks = records(record(line.message).content);
      return saidTurns(
        'text',
        blocks.map((block) => text(block.text)).join('')
      );
    }
    case 'thinking':
      return line.subtype === 'delta' ? pieceTurns('thinking', line.text) : [];
    case 'tool_call':
      return callTurns(line);
    default:
      return [];
  }
}

/** `{"shellToolCall": {"args": {…}, "result": {"success": {…}}}}` */
function callTurns(line: Fields): Turn[] {
  const kinds = Object.entries(record(line.tool_call));
  const [key, value] =
    kinds.find(([name]) => name.endsWith('ToolCall')) ?? kinds[0] ?? [];
  if (key === undefined) return [];
  const call = record(value);
  const name = text(call.name) || key.replace(/ToolCall$/, '');
  if (line.subtype === 'started')
    return [callTurn(line.call_id, name, call.args ?? call.arguments)];
  if (line.subtype !== 'completed') return [];
  const [outcome, details] = Object.entries(record(call.result))[0] ?? [];
  const result = record(details);
  const isError = outcome !== undefined && outcome !== 'success';
  const said = textOf(result) || (isError ? outcome : '');
  return [
    resultTurn(line.call_id, said, isError),
    ...(isError ? [] : editTurns(name, line.call_id, record(call.args), result))
  ];
}

/** What the documented tools put out, the most telling first. */
function textOf(result: Fields): string {
  const shown = [result.stdout, result.stderr].map(text).filter(Boolean);
  return (
    shown.join('\n') ||
    ['content', 'message', 'error', 'reason']
      .map((field) => text(result[field]))
      .find(Boolean) ||
    ''
  );
}

function editTurns(
  tool: string,
  id: unknown,
  args: Fields,
  result: Fields
): Turn[] {
  const path = text(result.path) || text(args.path);
  if (!/^(edit|write|delete)$/i.test(tool) || path === '') return [];
  const texts = {
    before: result.beforeFullFileContent,
    after: result.afterFullFileContent ?? args.fileText,
    diff: result.diffString
  };
  const known = Object.entries(texts).filter(
    ([, value]) => typeof value === 'string'
  );
  return [
    {
      kind: 'edit',
      ...idOf(id),
      path,
      ...(/^delete$/i.test(tool) && { change: 'deleted' }),
      ...Object.fromEntries(known.map(([name, value]) => [name, text(value)]))
    }
  ];
}
