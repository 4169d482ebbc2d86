import type { Run } from '../runs/run.ts';
import { stopRequestOf } from '../runs/run-files.ts';

export type MemberStatus =
  | 'completed'
  | 'error'
  | 'timeout'
  | 'canceled'
  | 'running'
  | 'queued';

/**
 * Where a member stands: from its exit code and whether somebody stopped it,
 * never from what it said. An API has no exit code of its own.
 */
export function memberStatusOf(
  { record, status, outcome }: Run,
  directory: string
): MemberStatus {
  if (!outcome) return status === 'queued' ? 'queued' : 'running';
  if (outcome.status === 'timeout' || outcome.status === 'canceled')
    return outcome.status;
  if (record.kind === 'api')
    return outcome.status === 'completed' ? 'completed' : 'error';
  // Some exit with 0 when they are stopped.
  const wasStopped = stopRequestOf(directory) !== undefined;
  return outcome.exit_code === 0 && !wasStopped ? 'completed' : 'error';
}
