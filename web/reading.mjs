import { mayAct, send } from './session.mjs';

/**
 * A person opens an ended agent: its result counts as read, so that
 * `troupe clean` may remove it. Links for looking change nothing.
 */
export function markRead(row) {
  if (!mayAct() || row.completed_at === null || row.is_read !== false) return;
  void send(`/web/agents/${row.agent_id}/read`).catch(() => undefined);
}
