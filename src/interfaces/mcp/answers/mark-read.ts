import type { Facts } from '../../../answers/budget.ts';
import { noteRead } from '../../../core/runs/run-files.ts';
import type { Host } from '../../../host/host.ts';
import type { ToolContext } from '../tool/define-tool.ts';

/** Fields with the output of an agent. */
const outputFields = ['result', 'answer'];
/** Fields with one row per agent. */
const listFields = [
  'results',
  'completed_results',
  'recent_results',
  'members',
  'opinions'
];

/**
 * Marks agents as read once the client has received the answer with their
 * results. An active agent, and an agent without a result in the answer, stays
 * unread. So does an agent whose result was cut in an answer with several rows.
 */
export function markRead(
  answer: Facts,
  { store }: Pick<Host, 'store'>,
  { afterAnswer }: Pick<ToolContext, 'afterAnswer'>
): Facts {
  const rows = listFields.flatMap((name) => rowsIn(answer[name]));
  const ids = [answer, ...rows].flatMap((row) => {
    const id = row.agent_id ?? row.agentId;
    if (typeof id !== 'string' || isActive(row)) return [];
    if (rows.length > 1 && 'next_offset' in row) return [];
    if (outputFields.some((name) => name in row)) return id;
    // The error is the whole result of an agent without output.
    const isWholeResult =
      'error_code' in row && store.outcomeOf(id)?.result_chars === 0;
    return isWholeResult ? id : [];
  });
  if (ids.length > 0)
    afterAnswer(() => {
      for (const id of ids) noteRead(id, store);
    });
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

function isActive({ status }: Facts): boolean {
  return status === 'running' || status === 'queued';
}
