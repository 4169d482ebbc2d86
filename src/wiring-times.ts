import { builtinEngines, optionalEngines } from '../plugins/index.ts';
import type { EngineTimes } from './trust/engine-widening.ts';

/** How long agents of an engine may take where no setting says otherwise. */
export function timesOf(name: string): EngineTimes {
  const engine = [...builtinEngines, ...optionalEngines].find(
    (one) => one.name === name
  );
  const { timeoutSeconds = 300 } = engine ?? {};
  const ofProgram = engine?.kind === 'api' ? undefined : engine;
  return {
    timeoutSeconds:
      typeof timeoutSeconds === 'function'
        ? timeoutSeconds('')
        : timeoutSeconds,
    idleTimeoutSeconds:
      engine?.kind === 'api' ? 0 : (ofProgram?.idleTimeoutSeconds ?? 600),
    retrySeconds: ofProgram?.retrySeconds ?? 0
  };
}
