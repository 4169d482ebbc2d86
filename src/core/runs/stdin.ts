import type { ApiEngine, Engine, EngineRequest } from '../../plugin.ts';
import type { ApiTask } from '../engines/api-task.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { Prices } from '../engines/price.ts';
import { turnsBefore } from './conversation.ts';
import type { RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';

export interface StdinDependencies {
  registry: EngineRegistry;
  store: RunStore;
  settings: { configFile: string | null; prices: Prices };
}

/** What a run's process is given on stdin. */
export function stdinOf(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  dependencies: StdinDependencies
): string {
  if (engine.kind === 'api')
    return JSON.stringify(taskOf(engine, request, record, dependencies));
  if (engine.stdin) return engine.stdin(request);
  return request.systemPrompt === undefined
    ? request.prompt
    : `${request.systemPrompt}\n\n${request.prompt}`;
}

function taskOf(
  engine: ApiEngine,
  { prompt, model = '', systemPrompt, baseUrl }: EngineRequest,
  record: RunRecord,
  { registry, store, settings }: StdinDependencies
): ApiTask {
  const { configFile } = settings;
  const place = registry.placeOf(engine);
  return {
    v: 1,
    engine: engine.name,
    label: record.label,
    plugin:
      configFile === null || place === undefined ? null : { configFile, place },
    request: {
      prompt,
      model,
      ...(systemPrompt === undefined ? {} : { systemPrompt }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
      turns: turnsBefore(record, store),
      stream: registry.settingsOf(engine.name).stream ?? true
    },
    idleTimeoutSeconds: record.idle_timeout_seconds,
    prices: settings.prices
  };
}
