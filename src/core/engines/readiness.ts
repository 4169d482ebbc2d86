import type { Processes } from '../runs/ports.ts';
import type { EngineRegistry } from './engine-registry.ts';

/** Names of the engines that could start now, as far as can be seen. */
export function locateReady(
  registry: EngineRegistry,
  processes: Processes
): string[] {
  return registry
    .all()
    .filter(
      (engine) =>
        engine.kind === 'cli' && processes.locate(registry.commandOf(engine))
    )
    .map((engine) => engine.name);
}
