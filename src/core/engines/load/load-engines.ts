import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Engine } from '../../../plugin/plugin.ts';
import { errnoOf } from '../../errors.ts';
import { withTimeout } from '../../timing.ts';
import type { PluginFault } from '../engine-registry.ts';
import { describeIssues } from '../engine-shape.ts';
import { wordsOf } from '../failures.ts';
import { guardEngine } from './guard-engine.ts';
import { pluginFile } from './plugin-file.ts';
import {
  refuseExits,
  withoutStdin,
  withoutStdout
} from './plugin-isolation.ts';

const defaultTimeoutMs = 5000;

export interface LoadedEngines {
  engines: Engine[];
  /** The index of each engine in the configuration's `plugins`. */
  indexes: Map<Engine, number>;
  faults: PluginFault[];
}

/**
 * Loads the plugins of a configuration in parallel. A plugin is a path
 * relative to the configuration, a package, or an object. A plugin that does
 * not load is skipped and reported as a fault.
 */
export async function loadEngines(
  plugins: unknown[],
  baseDirectory: string,
  timeoutMs = defaultTimeoutMs
): Promise<LoadedEngines> {
  const load = (plugin: unknown) =>
    loadEngine(plugin, baseDirectory, timeoutMs).catch(problemOf);
  const results = await withoutStdin(() =>
    withoutStdout(() => Promise.all(plugins.map(load)))
  );
  const loaded: LoadedEngines = { engines: [], indexes: new Map(), faults: [] };
  for (const [index, result] of results.entries()) {
    const plugin = nameOf(plugins[index], index);
    const problem =
      typeof result === 'string'
        ? result
        : duplicateOf(result, loaded, plugins);
    if (problem !== undefined) loaded.faults.push({ plugin, problem });
    else if (typeof result !== 'string') {
      loaded.engines.push(result);
      loaded.indexes.set(result, index);
    }
  }
  return loaded;
}

/** @throws Error or ZodError when the plugin is missing or not an engine */
export async function loadEngine(
  plugin: unknown,
  baseDirectory: string,
  timeoutMs = defaultTimeoutMs
): Promise<Engine> {
  return guardEngine(
    typeof plugin === 'string'
      ? await importPlugin(pluginFile(plugin, baseDirectory), timeoutMs)
      : plugin
  );
}

/** The reason why a plugin does not load, without a full stop. */
export function problemOf(error: unknown): string {
  return error instanceof z.ZodError
    ? `it is not an engine: ${describeIssues(error)}`
    : wordsOf(error);
}

/** The plugin's name in messages: its specifier, or its index. */
export function nameOf(plugin: unknown, index: number): string {
  return typeof plugin === 'string' ? plugin : `plugins[${index}]`;
}

/** The problem of an engine whose name is already taken: names map to tools. */
function duplicateOf(
  { name }: Engine,
  { engines, indexes }: LoadedEngines,
  plugins: unknown[]
): string | undefined {
  const first = engines.find((engine) => engine.name === name);
  const index = first && indexes.get(first);
  if (index === undefined) return undefined;
  return `${nameOf(plugins[index], index)} has the name "${name}" already; rename one of them`;
}

/**
 * Imports the default export of a module.
 * @param timeoutMs the limit for evaluating the module
 * @throws Error with a message for the user
 */
async function importPlugin(file: string, timeoutMs: number): Promise<unknown> {
  refuseExits(dirname(file));
  const module = importModule(file).catch((error: unknown) => {
    throw new Error(importProblem(error, file));
  });
  const timeout = new Error(
    `its module was still loading after ${timeoutMs / 1000} s; look for a top-level await that does not end`
  );
  // The timeout also covers a default export with a `then`, which is awaited.
  const found = await withTimeout<unknown>(
    module.then(defaultOf),
    timeoutMs,
    timeout
  );
  if (found === timeout) throw timeout;
  return found;
}

async function importModule(file: string): Promise<unknown> {
  const { href } = pathToFileURL(file);
  if (!/%5C/i.test(href)) return import(href);
  // Node cannot import from a directory with a backslash in its name.
  const { createRequire } = await import('node:module');
  const { isModuleNamespaceObject } = await import('node:util/types');
  const module: unknown = createRequire(file)(file);
  return isModuleNamespaceObject(module) ? module : { default: module };
}

/** Unwraps the default export of a module that was compiled to CommonJS. */
function defaultOf(module: unknown): unknown {
  const found = memberOf(module, 'default');
  if (memberOf(found, '__esModule') === true) return memberOf(found, 'default');
  if (found !== undefined) return found;
  throw new Error(
    'it has no default export; end it with: export default { kind: "cli", … }'
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** Loader errors of Node whose message already names the imported file. */
const loaderErrors =
  /^ERR_(MODULE|UNKNOWN|UNSUPPORTED|PACKAGE|REQUIRE|IMPORT)_/;

function importProblem(error: unknown, file: string): string {
  const words = wordsOf(error);
  if (loaderErrors.test(errnoOf(error) ?? '')) return words;
  if (error instanceof SyntaxError)
    return `it is not valid JavaScript: ${words}; "node --check ${file}" shows where`;
  return `it threw while it was loaded: ${words}`;
}
