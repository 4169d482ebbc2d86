import { builtinEngines, optionalEngines } from '../../plugins/index.ts';
import type { EngineTimes } from '../config/widening.ts';

/** The default time limits of an engine's agents. */
export function timesOf(name: string): EngineTimes {
  const engine = [...builtinEngines, ...optionalEngines].find(
    (one) => one.name === name
  );
  const { timeoutSeconds = 300 } = engine ?? {};
  const program = engine?.kind === 'api' ? undefined : engine;
  return {
    timeoutSeconds:
      typeof timeoutSeconds === 'function'
        ? timeoutSeconds('')
        : timeoutSeconds,
    idleTimeoutSeconds:
      engine?.kind === 'api' ? 0 : (program?.idleTimeoutSeconds ?? 600),
    retrySeconds: program?.retrySeconds ?? 0
  };
}
