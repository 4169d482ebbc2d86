import type { Turn } from '../../src/plugin/plugin.ts';
import {
  type Fields,
  innerMessage,
  record,
  records,
  text
} from '../shared/json-fields.ts';
import {
  callTurn,
  contentText,
  idOf,
  resultTurn,
  saidTurns
} from '../shared/turns.ts';

/** `turn.failed` repeats the last `error`, so it adds nothing. */
export function codexTurns(event: unknown): Turn[] {
  const line = record(event);
  const item = record(line.item);
  switch (line.type) {
    case 'item.started':
      return startedTurns(item);
    case 'item.updated':
      return item.type === 'todo_list' ? planTurns(item) : [];
    case 'item.completed':
      return completedTurns(item);
    case 'error':
      return saidTurns('notice', innerMessage(text(line.message)));
    default:
      return [];
  }
}

function startedTurns(item: Fields): Turn[] {
  switch (item.type) {
    case 'command_execution':
      return [callTurn(item.id, 'shell', item.command)];
    case 'mcp_tool_call': {
      const name = `${text(item.server)}: ${text(item.tool)}`;
      return [callTurn(item.id, name, item.arguments)];
    }
    case 'todo_list':
      return planTurns(item);
    default:
      return [];
  }
}

function completedTurns(item: Fields): Turn[] {
  switch (item.type) {
    case 'agent_message':
      return saidTurns('text', item.text);
    case 'reasoning':
      return saidTurns('thinking', item.text);
    case 'error':
      return saidTurns('notice', item.message);
    case 'command_execution': {
      const said = text(item.aggregated_output);
      return [resultTurn(item.id, said, item.status !== 'completed')];
    }
    case 'mcp_tool_call': {
      const said = contentText(record(item.result).content);
      const why = text(record(item.error).message);
      return [resultTurn(item.id, said || why, item.status !== 'completed')];
    }
    // The query is known only now.
    case 'web_search':
      return [callTurn(item.id, 'web search', item.query)];
    case 'file_change':
      return changeTurns(item);
    default:
      return [];
  }
}

const changes = {
  add: 'added',
  update: 'changed',
  delete: 'deleted'
} as const;

function changeTurns(item: Fields): Turn[] {
  const files = records(item.changes);
  const paths = files.map(({ path }) => text(path));
  if (item.status !== 'completed')
    return saidTurns('notice', `The edit failed: ${paths.join(', ')}`);
  return files.flatMap(({ path, kind }): Turn[] => {
    const name = text(path);
    if (name === '') return [];
    const change = Object.entries(changes).find(([key]) => key === kind)?.[1];
    return [
      {
        kind: 'edit',
        ...idOf(item.id),
        path: name,
        ...(change && { change })
      }
    ];
  });
}

function planTurns(item: Fields): Turn[] {
  const lines = records(item.items).map(
    (step) => `[${step.completed === true ? 'x' : ' '}] ${text(step.text)}`
  );
  return saidTurns('notice', lines.join('\n'));
}
