import type { CliEngine, Engine, EngineRequest } from '../../plugin.ts';
import type { ApiKeys } from '../engines/api-keys.ts';
import { keyVariable } from '../engines/api-task.ts';
import { type EngineRegistry, labelOf } from '../engines/engine-registry.ts';
import { childEnvironment } from '../engines/environment.ts';
import type { Processes } from './ports.ts';
import type { RunRecord } from './run.ts';

export interface ProgramDependencies {
  registry: EngineRegistry;
  keys: ApiKeys;
  processes: Processes;
}

/** What is started for a run. */
export interface Program {
  command: string;
  args: string[];
  environment: Record<string, string>;
}

/** An API agent watches for silence itself and is better at saying so. */
const apiIdleSlackSeconds = 10;

/** @throws Error when a key that was there is gone, or what a plugin throws */
export function programOf(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  directory: string,
  dependencies: ProgramDependencies
): Program {
  const { registry, keys, processes } = dependencies;
  const environment = environmentOf(
    engine,
    request,
    record,
    directory,
    dependencies
  );
  if (engine.kind === 'cli') {
    const command = registry.commandOf(engine);
    return {
      command: processes.locate(command) ?? command,
      args: [...registry.argumentsBefore(engine), ...engine.args(request)],
      environment
    };
  }
  const key = keys.find(engine);
  const fault = keys.faultOf(engine, labelOf(engine));
  if (fault) throw new Error(fault.message);
  return {
    ...processes.apiAgent,
    environment: {
      // Newer Nodes then go through the proxy that the variables name.
      NODE_USE_ENV_PROXY: '1',
      ...environment,
      ...(key ? { [keyVariable]: key.value } : {})
    }
  };
}

/** What a run's processes find in their environment. */
export function environmentOf(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  directory: string,
  { registry }: Pick<ProgramDependencies, 'registry'>
): Record<string, string> {
  const parts: Pick<CliEngine, 'env'> = engine.kind === 'cli' ? engine : {};
  const settings = registry.settingsOf(engine.name);
  return childEnvironment(parts, request, record, directory, settings);
}

/** Seconds of silence until the supervisor ends a run; 0 for never. */
export function silenceLimitOf(record: RunRecord): number {
  const { kind, idle_timeout_seconds: seconds } = record;
  return kind === 'api' && seconds > 0
    ? seconds + apiIdleSlackSeconds
    : seconds;
}
