import { setTimeout as delay } from 'node:timers/promises';
import { isSameProcess } from '../../core/processes/process-identity.ts';
import { unlessCorrupt } from '../../core/runs/damaged-run.ts';
import { isAwaited } from '../../core/runs/notify/open-waits.ts';
import {
  claimWake,
  isWakeRegistered,
  registerWake
} from '../../core/runs/notify/wake-marks.ts';
import type { Run, RunRecord } from '../../core/runs/run.ts';
import { wasRead } from '../../core/runs/run-files.ts';
import type { Host } from '../../host/host.ts';
import { wakeLine } from './wake-line.ts';

export interface WakeTimes {
  /** Between two looks at the agents. */
  pollMs: number;
  /**
   * From an end to its report. Ends within this time are reported together,
   * and an answer that is on its way to the client is read.
   */
  gatherMs: number;
}

const usualTimes: WakeTimes = { pollMs: 250, gatherMs: 1000 };

/** Agents that ended last, among which others may wake the same session. */
const mostOthers = 50;

type Parts = Pick<Host, 'store' | 'tracker' | 'processes' | 'paths' | 'recent'>;

/**
 * Waits for the first end of these agents that the client does not learn in
 * another way. It relies on the record alone, so any server may end meanwhile.
 * @param isOver true once no session is left to wake
 * @returns the line to show; undefined when there is nothing to report
 */
export async function waitForWake(
  host: Parts,
  agentIds: string[],
  isOver: () => boolean,
  { pollMs, gatherMs }: WakeTimes = usualTimes
): Promise<string | undefined> {
  const { store } = host;
  const open = new Set(agentIds.filter((id) => store.has(id)));
  const expected = new Set<string>();
  for (const id of open) registerWake(store.directoryOf(id));
  while (open.size > 0 && !isOver()) {
    const ended = await unread(host, open);
    if (ended.length > 0) {
      await delay(gatherMs);
      if (isOver()) return undefined;
      const claimed = await claimEnds(host, open, expected);
      if (claimed.length > 0) return wakeLine(claimed, open.size);
    } else await delay(pollMs);
  }
  return undefined;
}

/**
 * Claims the ends to report now, and those of other hooks of the session.
 * @param expected agents for which the client waited at the last look: the
 *   answer may still be on its way
 */
async function claimEnds(
  host: Parts,
  open: Set<string>,
  expected: Set<string>
): Promise<Run[]> {
  const { store } = host;
  const own = (await unread(host, open)).filter(({ record }) => {
    const { agent_id: id } = record;
    if (!isExpected(record, host)) return !expected.delete(id);
    expected.add(id);
    return false;
  });
  const claimed = own.filter(({ record: { agent_id: id } }) => {
    // Reported here, or by another hook of the session.
    open.delete(id);
    return claimWake(store.directoryOf(id));
  });
  const [first] = claimed;
  if (!first) return [];
  const others = host.recent(mostOthers).flatMap((id) => {
    const record = store.recordOf(id);
    const outcome = store.outcomeOf(id);
    if (!record || !outcome) return [];
    const directory = store.directoryOf(id);
    const isTheirs =
      isSameClient(record, first.record) &&
      isWakeRegistered(directory) &&
      !wasRead(directory) &&
      !isExpected(record, host) &&
      claimWake(directory);
    return isTheirs ? [{ record, status: outcome.status, outcome }] : [];
  });
  return [...claimed, ...others];
}

/**
 * Agents that have ended and whose result was not read. Removes from `open`
 * those that were read, and those whose folder is gone.
 */
async function unread(
  { store, tracker }: Parts,
  open: Set<string>
): Promise<Run[]> {
  const ended: Run[] = [];
  for (const id of [...open]) {
    const drop = () => open.delete(id);
    try {
      const run = await unlessCorrupt(tracker.run(id), drop);
      if (!run || wasRead(store.directoryOf(id))) drop();
      else if (run.outcome) ended.push(run);
    } catch {
      // An end that cannot be recorded now, such as on a full disk.
    }
  }
  return ended;
}

/** Whether the client waits for the agent by a call that is open. */
function isExpected(record: RunRecord, { paths, processes }: Parts): boolean {
  return isAwaited(record, paths.servers, processes);
}

function isSameClient(one: RunRecord, other: RunRecord): boolean {
  return (
    isSameProcess(one.owner, other.owner) &&
    one.caller?.session === other.caller?.session
  );
}
