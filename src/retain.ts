import type { Config } from './config.ts';
import { recur } from './core/recur.ts';
import type { CleanTools } from './core/retention/apply.ts';
import type { Safety } from './core/state/safety.ts';
import { log, logProblem } from './log.ts';
import { policyOf } from './retention-config.ts';

const hourMs = 3_600_000;

/**
 * Removes what the retention takes, beside all other work of a server.
 * @returns what ends it
 */
export function retainAutomatically({
  config,
  store,
  journal,
  processes,
  safety
}: Omit<CleanTools, 'onProblem' | 'signal'> & {
  config: Config;
  safety: Pick<Safety, 'holds'>;
}): () => void {
  const policy = policyOf(config.retention);
  if (!config.retention.automatic || !policy) return () => undefined;
  const clean = async () => {
    if (!safety.holds()) return;
    const { applyPolicy } = await import('./core/retention/apply.ts');
    const tools = { store, journal, processes, onProblem: log };
    await applyPolicy(policy, tools).catch(logProblem);
  };
  setImmediate(() => void clean());
  return recur(hourMs, clean, logProblem);
}
