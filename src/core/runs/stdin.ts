import { join } from 'node:path';
import type { ApiEngine, Engine, EngineRequest } from '../../plugin.ts';
import type { ApiTask } from '../engines/api-task.ts';
import { EngineFault } from '../engines/engine-fault.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { Prices } from '../engines/price.ts';
import { replaceFile } from '../state/atomic-file.ts';
import type { Digests } from '../state/digests.ts';
import { turnsBefore } from './conversation.ts';
import type { RunRecord } from './run.ts';
import type { Waiting } from './run-queue.ts';
import type { RunStore } from './run-store.ts';

export interface StdinDependencies {
  registry: EngineRegistry;
  store: RunStore;
  settings: PluginSource & { prices: Prices };
}

/** Where the process of a run finds the plugin of its engine. */
export interface PluginSource {
  configFile: string | null;
  /** Files that have to hold this when the plugin is loaded. */
  pinnedCode: Digests;
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

/**
 * What an API agent is told when its time has come: while it waited for the
 * one before it in its chat, it could not know that turn.
 */
export function tellAnew(
  { engine, request, record, after }: Waiting,
  dependencies: StdinDependencies
): void {
  if (engine.kind !== 'api' || after.length === 0) return;
  checkChat(record, dependencies.store);
  const path = join(dependencies.store.directoryOf(record.agent_id), 'stdin');
  replaceFile(path, stdinOf(engine, request, record, dependencies));
}

/** An API's chat whose first turn failed would not know its role. */
function checkChat({ in_chat, session_id: chat }: RunRecord, store: RunStore) {
  if (!in_chat || chat === null) return;
  const first = store.outcomeOf(chat);
  if (first && first.status !== 'completed')
    throw new Error(
      `the first turn of the chat ${chat} ended as ${first.status}, so it has no role to go on with; leave chatId out for a new chat`
    );
}

function taskOf(
  engine: ApiEngine,
  { prompt, model = '', systemPrompt, baseUrl }: EngineRequest,
  record: RunRecord,
  { registry, store, settings }: StdinDependencies
): ApiTask {
  return {
    v: 1,
    engine: engine.name,
    label: record.label,
    plugin: pluginOf(engine, registry, settings),
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

/**
 * Where the run's own process finds the engine.
 * @throws EngineFault when it was handed over as an object of this process
 */
function pluginOf(
  engine: ApiEngine,
  registry: EngineRegistry,
  { configFile, pinnedCode }: PluginSource
): ApiTask['plugin'] {
  const place = registry.placeOf(engine);
  if (place === undefined) return null;
  if (configFile !== null) return { configFile, place, pinnedCode };
  throw new EngineFault(
    engine.name,
    'generate',
    'runs in a process of its own, so a configuration file has to name the plugin'
  );
}
