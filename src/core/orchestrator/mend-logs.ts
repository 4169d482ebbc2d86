import type { WorkerStore } from './worker-store.ts';

/**
 * Puts aside what killed processes left of a line, in all logs there are. Who
 * cannot be mended keeps nobody else from it.
 */
export async function mendLogs(
  store: WorkerStore,
  onProblem: (who: string, problem: unknown) => void
): Promise<void> {
  const workers = store.ids().flatMap((id) => store.find(id) ?? []);
  for (const { log, meta } of workers)
    await log
      .mend()
      .catch((problem) => onProblem(`Worker ${meta.agent_id}`, problem));
  for (const run of new Set(workers.map(({ meta }) => meta.run_id)))
    await store
      .broadcastOf(run)
      .mend()
      .catch((problem) => onProblem(`The broadcast of ${run}`, problem));
}
