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
  const recoveries = diary.recoveries.toSorted((a, b) => a - b);
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
    recoveryMs: {
      count: recoveries.length,
      p50: Math.round(recoveries[Math.floor(recoveries.length / 2)] ?? 0),
      most: Math.round(recoveries.at(-1) ?? 0)
    },
    megabytes: Math.round(
      Math.max(...seen.map(({ peakMegabytes }) => peakMegabytes))
    ),
    descriptorsGained: Math.max(0, ...growth)
  };
}
