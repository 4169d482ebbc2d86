import { locateReady } from '../engines/readiness.ts';
import { HostError } from '../errors.ts';
import type { ProgramDependencies } from '../runs/program.ts';

/** As many are asked when the caller names none. */
const usualCount = 3;

/**
 * The engines to ask: those named, else the first that are ready, API engines
 * before programs, and the caller's own kind last.
 * @throws HostError `unknown_engine`; `no_engine` when none is ready
 */
export function chooseExperts(
  named: string[] | undefined,
  clientName: string,
  { registry, processes, keys }: ProgramDependencies
): string[] {
  if (named) return [...new Set(named)].map((name) => registry.get(name).name);
  const rank = (name: string): number => {
    if (clientName.toLowerCase().includes(name)) return 2;
    return registry.get(name).kind === 'api' ? 0 : 1;
  };
  const ready = locateReady(registry, processes, keys)
    .map((name) => ({ name, rank: rank(name) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name);
  if (ready.length > 0) return ready.slice(0, usualCount);
  throw new HostError(
    'no_engine',
    'No engine is ready to be asked: no program is installed and no key is set.',
    'Run "troupe doctor" to see what is missing, or put a key into api_keys.json.'
  );
}
