import type { Turn } from '../../src/plugin/plugin.ts';
import { type Fields, record, text } from '../shared/json-fields.ts';
import {
  callTurn,
  idOf,
  pieceTurns,
  resultTurn,
  saidTurns
} from '../shared/turns.ts';

export function geminiCliTurns(event: unknown): Turn[] {
  const line = record(event);
  switch (line.type) {
    case 'message':
      if (line.role !== 'assistant') return [];
      return line.delta === true
        ? pieceTurns('text', line.content)
        : saidTurns('text', line.content);
    case 'tool_use':
      return [
        callTurn(line.tool_id, line.tool_name, line.parameters),
        ...editTurns(line)
      ];
    case 'tool_result': {
      const said = text(line.output) || text(record(line.error).message);
      return [resultTurn(line.tool_id, said, line.status === 'error')];
    }
    case 'error':
      return saidTurns('notice', line.message);
    default:
      return [];
  }
}

/** The result does not name the file, so the edit comes with its call. */
function editTurns({ tool_id, tool_name, parameters }: Fields): Turn[] {
  const { file_path, content, old_string, new_string } = record(parameters);
  const path = text(file_path);
  if (path === '') return [];
  if (tool_name === 'write_file')
    return [{ kind: 'edit', ...idOf(tool_id), path, after: text(content) }];
  if (tool_name !== 'replace') return [];
  return [
    {
      kind: 'edit',
      ...idOf(tool_id),
      path,
      change: 'changed',
      before: text(old_string),
      after: text(new_string)
    }
  ];
}
