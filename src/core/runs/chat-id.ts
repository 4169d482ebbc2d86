import type { Run } from './run.ts';

/**
 * The chat in which a run can be gone on with. A turn that failed does not
 * tell another one than it was asked for, and the chat of an API, named after
 * its first agent, begins with an answer only.
 */
export function chatIdOf({ record, outcome }: Run): string | null {
  const asked = askedChatOf(record);
  const seen = outcome?.session_id ?? null;
  if (outcome?.status === 'completed') return seen ?? asked;
  return asked ?? (record.kind === 'api' ? null : seen);
}

/** The chat that a run was to go on in. */
export function askedChatOf({
  agent_id,
  session_id
}: Run['record']): string | null {
  return session_id === agent_id ? null : session_id;
}
