import type { Turn } from '../../src/plugin/plugin.ts';
import {
  count,
  type Fields,
  record,
  records,
  text
} from '../shared/json-fields.ts';
import {
  callTurn,
  idOf,
  nestedIn,
  resultTurn,
  saidTurns
} from '../shared/turns.ts';

/**
 * Copilot repeats streamed pieces as a whole message, so the pieces are passed
 * over. An answer that the model had to continue is the exception: only its
 * last part is repeated.
 */
export function copilotTurns(event: unknown): Turn[] {
  const { type, data: value } = record(event);
  const data = record(value);
  return nestedIn(data.parentToolCallId, turnsOf(type, data));
}

function turnsOf(type: unknown, data: Fields): Turn[] {
  switch (type) {
    case 'assistant.message':
      return [
        ...saidTurns('thinking', data.reasoningText),
        ...saidTurns('text', data.content)
      ];
    case 'tool.execution_start':
      return [callTurn(data.toolCallId, data.toolName, data.arguments)];
    case 'tool.execution_complete':
      return completedTurns(data);
    case 'model.call_failure': {
      const said = text(data.errorMessage);
      const why = /"message":"(.*?)","/.exec(said)?.[1] ?? said;
      const plain = why.replace(/^"|"$/g, '');
      return saidTurns('notice', `The model call failed: ${plain}`);
    }
    case 'session.warning':
    case 'session.error':
      return saidTurns('notice', data.message);
    default:
      return [];
  }
}

const changes = {
  create: 'added',
  update: 'changed',
  edit: 'changed',
  delete: 'deleted'
} as const;

/** A shell that exits with another code than 0 is a success for Copilot. */
function completedTurns(data: Fields): Turn[] {
  const { content, detailedContent } = record(data.result);
  const isError =
    data.success === false || count(record(data.shellExecution).exitCode) > 0;
  const said = text(content) || text(record(data.error).message);
  const files = records(data.fileEdits).filter(({ path }) => text(path) !== '');
  const details = text(detailedContent).trimStart();
  // One diff is of one file.
  const isDiff = files.length === 1 && details.startsWith('diff --git ');
  return [
    resultTurn(data.toolCallId, said, isError),
    ...files.map(({ path, kind }): Turn => {
      const change = Object.entries(changes).find(([key]) => key === kind)?.[1];
      return {
        kind: 'edit',
        ...idOf(data.toolCallId),
        path: text(path),
        ...(change && { change }),
        ...(isDiff && { diff: details })
      };
    })
  ];
}
