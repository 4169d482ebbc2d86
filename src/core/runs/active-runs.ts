import { soon } from '../soon.ts';
import type { Run, RunRecord } from './run.ts';
import { liveStateOf, settlingMs } from './run-state.ts';
import type { RunTracker, TrackerDependencies } from './run-tracker.ts';

export interface ActiveDependencies
  extends Pick<TrackerDependencies, 'store' | 'processes' | 'isOurs'> {
  refresh: RunTracker['refresh'];
}

/** Undefined while it is not known. */
interface Standing {
  record: RunRecord;
  status: 'queued' | 'running' | 'ended' | undefined;
}

/**
 * Runs that are queued or running, oldest first. Of hundreds most are just
 * that, and need no promise each: only those that seem to be over are waited
 * for.
 */
export async function activeRuns(
  dependencies: ActiveDependencies
): Promise<Run[]> {
  const { store } = dependencies;
  const all = store.openIds().flatMap((id): Standing[] => {
    const record = store.recordOf(id);
    return record ? [{ record, status: statusNow(record, dependencies) }] : [];
  });
  const ending = all.filter(({ status }) => status === undefined);
  const settle = async (one: Standing) => {
    one.status = await soonSettled(one.record, ending.length, dependencies);
  };
  await Promise.all(ending.map(settle));
  // Some have ended while we waited for others.
  const isOver = ({ agent_id: id }: RunRecord) =>
    ending.length > 0 && store.hasOutcome(id);
  return all.flatMap(({ record, status }): Run[] =>
    status === undefined || status === 'ended' || isOver(record)
      ? []
      : [{ record, status }]
  );
}

function statusNow(
  record: RunRecord,
  { store, processes, isOurs }: ActiveDependencies
): Standing['status'] {
  const { agent_id: id } = record;
  if (store.hasOutcome(id)) return 'ended';
  if (isOurs(id)) return 'running';
  const state = liveStateOf(record, store.directoryOf(id), processes);
  return state === 'queued' || state === 'running' ? state : undefined;
}

/** A run whose end takes longer to be written down counts as running. */
function soonSettled(
  record: RunRecord,
  among: number,
  { store, refresh }: ActiveDependencies
): Promise<'queued' | 'running' | 'ended'> {
  const directory = store.directoryOf(record.agent_id);
  const ms = settlingMs(directory, record.owner.place, among);
  return soon(refresh(record), ms, 'running');
}
