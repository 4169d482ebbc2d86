import type { Diary } from './diary.ts';
import type { Evidence } from './evidence.ts';
import type { Servers } from './servers.ts';

/** What was done and how it went, in figures. */
export function reportOf(
  { agents, servers: seen }: Evidence,
  servers: Servers,
  diary: Diary,
  seconds: number,
  seed: number
): Record<string, unknown> {
  const count = (values: string[]) =>
    Object.fromEntries(
      [...new Set(values)]
        .toSorted()
        .map((value) => [value, values.filter((one) => one === value).length])
    );
  const growth = servers.all
    .filter(({ isIdle }) => isIdle)
    .map(({ openAtFirst, openAtLast }) => openAtLast - openAtFirst);
  return {
    ...{ seed, seconds, agents: agents.length, servers: seen.length },
    ends: count(agents.map(({ status }) => status ?? 'not acknowledged')),
    behaviours: count(agents.map(({ kind }) => kind)),
    done: Object.fromEntries([...diary.counts].toSorted()),
    responses: diary.responses.size,
    recoveryMs: spread(diary.recoveries),
    viewsBackMs: spread(diary.viewsBack),
    megabytes: Math.round(
      Math.max(...seen.map(({ peakMegabytes }) => peakMegabytes))
    ),
    descriptorsGained: Math.max(0, ...growth)
  };
}

function spread(times: number[]): Record<string, number> {
  return {
    count: times.length,
    p50: Math.round(medianOf(times)),
    most: Math.round(Math.max(0, ...times))
  };
}

/** 0 of nothing. */
export function medianOf(times: number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
