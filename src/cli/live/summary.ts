import type { DayTotal } from '../../interfaces/board/day-sum.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import type { Snapshot } from '../../interfaces/board/watcher.ts';
import { counted, dollars } from '../output/text.ts';

/** `3 running, 2 workers; today (UTC) 12 ended, 1 not completed, $0.31`. */
export function summaryOf({ agents, today }: Snapshot): string {
  const { ended, notCompleted } = today;
  const bad = notCompleted > 0 ? `, ${notCompleted} not completed` : '';
  const total = ended === 0 ? 'none ended' : `${ended} ended${bad}`;
  const cost = ended === 0 ? '' : `, cost ${costOf(today)}`;
  return `${countsOf(agents)}; today (UTC) ${total}${cost}`;
}

function costOf({ costUsd, costsUnknown }: DayTotal): string {
  if (costUsd === undefined) return 'unknown';
  const sum = dollars(costUsd);
  return costsUnknown === 0 ? sum : `${sum} + ${costsUnknown} unknown`;
}

/** `3 running, 1 queued, 2 workers`: the agents that have not ended. */
function countsOf(agents: WatchedAgent[]): string {
  const active = agents.filter(({ isActive }) => isActive);
  const runs = active.filter(({ of }) => !isWorker(of));
  const workers = active.length - runs.length;
  const queued = runs.filter(({ state }) => state === 'queued').length;
  const asking = runs.filter(({ state }) => state === 'asking').length;
  return [
    `${runs.length - queued} running`,
    ...(asking > 0 ? [`${asking} asking`] : []),
    ...(queued > 0 ? [`${queued} queued`] : []),
    ...(workers > 0 ? [counted(workers, 'worker')] : [])
  ].join(', ');
}
