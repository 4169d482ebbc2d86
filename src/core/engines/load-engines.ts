import { z } from 'zod';
import type { Engine } from '../../plugin.ts';
import { wordsOf } from './engine-fault.ts';
import type { PluginFault } from './engine-registry.ts';
import { told } from './engine-shape.ts';
import { guardEngine } from './guard-engine.ts';
import { importPlugin } from './import-plugin.ts';
import { pluginFile } from './plugin-file.ts';
import { withoutStdin } from './plugin-input.ts';
import { withoutStdout } from './plugin-output.ts';

/** How long the module of a plugin may take to load. */
const defaultPatienceMs = 5000;

export interface LoadedEngines {
  engines: Engine[];
  /** Where each of them stands in the configuration's `plugins`. */
  places: Map<Engine, number>;
  faults: PluginFault[];
}

/**
 * Loads the plugins a configuration names: a path relative to it, a package,
 * or an object. They load side by side; a plugin that does not is left out
 * and told as a fault.
 */
export async function loadEngines(
  plugins: unknown[],
  baseDirectory: string,
  patienceMs = defaultPatienceMs
): Promise<LoadedEngines> {
  const results = await withoutStdin(() =>
    withoutStdout(() =>
      Promise.all(
        plugins.map((plugin) =>
          loadEngine(plugin, baseDirectory, patienceMs).catch(problemOf)
        )
      )
    )
  );
  const loaded: LoadedEngines = { engines: [], places: new Map(), faults: [] };
  for (const [index, result] of results.entries()) {
    const plugin = nameOf(plugins[index], index);
    const problem =
      typeof result === 'string' ? result : takenBy(result, loaded, plugins);
    if (problem !== undefined) loaded.faults.push({ plugin, problem });
    else if (typeof result !== 'string') {
      loaded.engines.push(result);
      loaded.places.set(result, index);
    }
  }
  return loaded;
}

/**
 * Loads one plugin.
 * @throws Error or ZodError when it is missing, broken or no engine
 */
export async function loadEngine(
  plugin: unknown,
  baseDirectory: string,
  patienceMs = defaultPatienceMs
): Promise<Engine> {
  return guardEngine(
    typeof plugin === 'string'
      ? await importPlugin(pluginFile(plugin, baseDirectory), patienceMs)
      : plugin
  );
}

/** Why a plugin does not load, in one sentence without its end. */
export function problemOf(error: unknown): string {
  return error instanceof z.ZodError
    ? `it is no engine: ${told(error)}`
    : wordsOf(error);
}

function nameOf(plugin: unknown, index: number): string {
  return typeof plugin === 'string' ? plugin : `plugins[${index}]`;
}

/** Two plugins of one name would be one tool: the first has it. */
function takenBy(
  { name }: Engine,
  { engines, places }: LoadedEngines,
  plugins: unknown[]
): string | undefined {
  const first = engines.find((engine) => engine.name === name);
  const place = first && places.get(first);
  if (place === undefined) return undefined;
  return `${nameOf(plugins[place], place)} has the name "${name}" already; rename one of them`;
}
