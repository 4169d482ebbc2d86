import type { Facts } from '../../core/runs/fit.ts';
import { noteRead } from '../../core/runs/read-mark.ts';
import type { Host } from '../../host.ts';
import type { ToolContext } from './define-tool.ts';

/** Fields in which an answer has what agents said. */
const saidIn = ['result', 'answer'];
const lists = [
  'results',
  'completed_results',
  'recent_results',
  'members',
  'opinions'
];

/**
 * Notes whose results an answer gives: of agents that it only names, or that
 * are at work, nobody has read anything. So has nobody who stopped asking.
 * In an answer of many, a result that was cut for want of room is none.
 */
export function given(
  answer: Facts,
  { store }: Pick<Host, 'store'>,
  { signal }: Pick<ToolContext, 'signal'>
): Facts {
  if (signal.aborted) return answer;
  const rows = lists.flatMap((name) => rowsIn(answer[name]));
  for (const row of [answer, ...rows]) {
    const id = row.agent_id ?? row.agentId;
    if (typeof id !== 'string' || isAtWork(row)) continue;
    if (rows.length > 1 && 'next_offset' in row) continue;
    if (saidIn.some((name) => name in row)) noteRead(id, store);
    // It had nothing to say, so how it ended is all there is.
    else if ('error_code' in row && store.outcomeOf(id)?.result_chars === 0)
      noteRead(id, store);
  }
  return answer;
}

function rowsIn(value: unknown): Facts[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((row: unknown) =>
    typeof row === 'object' && row !== null
      ? [Object.fromEntries(Object.entries(row))]
      : []
  );
}

function isAtWork({ status }: Facts): boolean {
  return status === 'running' || status === 'queued';
}
