import type { DayTotal } from './day-sum.ts';
import { workerJson } from './listed-workers.ts';
import { isWorker, type WatchedAgent } from './watched-agent.ts';
import type { Snapshot } from './watcher.ts';

/** A snapshot as `troupe watch --json` prints it. */
export function describeSnapshot({ agents, today }: Snapshot) {
  return {
    today: describeDay(today),
    agents: agents.flatMap(describeRun),
    workers: agents.flatMap(({ of }) => (isWorker(of) ? [workerJson(of)] : []))
  };
}

export function describeDay(today: DayTotal) {
  return {
    day: today.day,
    ended: today.ended,
    not_completed: today.notCompleted,
    cost_usd: today.costUsd ?? null,
    costs_unknown: today.costsUnknown
  };
}

/** One row, or none for a worker. */
export function describeRun(agent: WatchedAgent) {
  const { of, changed } = agent;
  if (isWorker(of)) return [];
  return [
    {
      agent_id: agent.id,
      agent_type: agent.engine,
      model: agent.model ?? 'default',
      status: of.status,
      task: of.record.task,
      doing: agent.doing ?? agent.task,
      created_at: of.record.created_at,
      completed_at: agent.endedAt ?? null,
      seconds: agent.seconds,
      cost_usd: agent.costUsd ?? null,
      lines_added: changed?.added ?? null,
      lines_removed: changed?.removed ?? null,
      client: agent.client ?? null,
      squad: of.record.squad ?? null,
      quiet_seconds: agent.quietSeconds ?? null,
      ...(changed?.isShared ? { lines_shared: true as const } : {})
    }
  ];
}
