import type { Processes } from '../runs/ports.ts';
import type { ApiKeys } from './api-keys.ts';
import type { EngineRegistry } from './engine-registry.ts';

/** Names of the engines that could start now, as far as can be seen. */
export function locateReady(
  registry: EngineRegistry,
  processes: Processes,
  keys: ApiKeys
): string[] {
  return registry
    .all()
    .filter((engine) =>
      engine.kind === 'api'
        ? keys.isReady(engine)
        : processes.locate(registry.commandOf(engine))
    )
    .map((engine) => engine.name);
}
