import type { Engine, EngineRequest, Failure } from '../../plugin.ts';
import { unlessAtFault } from '../engines/engine-fault.ts';
import type { RunRecord } from './run.ts';
import { type StdinDependencies, stdinOf } from './stdin.ts';

/**
 * Asks an engine for all that its start will take, so that a plugin at fault
 * is told at once, and gives what its process gets on stdin.
 */
export function preflight(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  dependencies: StdinDependencies
): { stdin: string; failure?: Failure } {
  return unlessAtFault<{ stdin: string; failure?: Failure }>(
    () => {
      dependencies.registry.timeoutOf(engine, request.prompt);
      if (engine.kind === 'cli') {
        engine.tools?.(request.access);
        engine.args(request);
        engine.env?.set?.(request);
      }
      return { stdin: stdinOf(engine, request, record, dependencies) };
    },
    ({ failure }) => ({ stdin: '', failure })
  );
}
