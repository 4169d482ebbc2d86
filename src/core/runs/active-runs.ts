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

/** Runs without recorded end, and those whose end was recorded just now. */
export interface OpenRuns {
  /** Queued or running, oldest first. */
  active: Run[];
  /** Ids of those that are over, though that may not be written down yet. */
  over: string[];
}

/**
 * Where all open runs stand. Of hundreds most are queued or running, and need
 * no promise each: only those that seem to be over are waited for.
 */
export async function openRuns(
  dependencies: ActiveDependencies
): Promise<OpenRuns> {
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
  const runs: OpenRuns = { active: [], over: [] };
  for (const { record, status } of all)
    if (status === undefined || status === 'ended' || isOver(record))
      runs.over.push(record.agent_id);
    else runs.active.push({ record, status });
  return runs;
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

/**
 * A run whose end takes longer to be written down has ended all the same: it
 * may take seconds until what it left behind is gone.
 */
async function soonSettled(
  record: RunRecord,
  among: number,
  { store, processes, refresh }: ActiveDependencies
): Promise<'queued' | 'running' | 'ended'> {
  const directory = store.directoryOf(record.agent_id);
  const ms = settlingMs(directory, record.owner.place, among);
  const settled = await soon(refresh(record), ms, undefined);
  if (settled) return settled;
  const state = liveStateOf(record, directory, processes);
  return state === 'queued' || state === 'running' ? state : 'ended';
}
