import type { Turn } from '../../src/plugin/plugin.ts';
import { record, text } from '../shared/json-fields.ts';
import { callTurn, idOf, resultTurn, saidTurns } from '../shared/turns.ts';

export function rehearsalTurns(event: unknown): Turn[] {
  const line = record(event);
  const { call, change, after } = line;
  const said = text(line.text);
  switch (line.type) {
    case 'progress':
      // Without a call, it is what the script's command `progress` reports.
      return call === undefined
        ? saidTurns('notice', said)
        : [callTurn(call, line.name, line.input)];
    case 'result':
      return [resultTurn(call, said, line.isError === true)];
    case 'edit':
      return [
        {
          kind: 'edit',
          ...idOf(call),
          path: said,
          ...((change === 'added' || change === 'changed') && { change }),
          ...(typeof after === 'string' && { after })
        }
      ];
    case 'done':
      return saidTurns('text', said);
    default:
      return [];
  }
}
