import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Engine } from '../../plugin.ts';
import { errnoOf } from '../errors.ts';
import { readIfThere } from '../state/atomic-file.ts';
import type { PluginFault } from './engine-registry.ts';

const callable = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function'
);

const basics = {
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,25}$/, 'lower-case letters, digits and dashes'),
  description: z.string().min(1).max(500)
};

/** What must be there for the host to work; the rest is the plugin's own. */
const engineShape = z.discriminatedUnion('kind', [
  z.looseObject({
    ...basics,
    kind: z.literal('cli'),
    command: z.string().min(1),
    args: callable,
    read: callable.optional()
  }),
  z.looseObject({
    ...basics,
    kind: z.literal('api'),
    keyNames: z.array(z.string()),
    generate: callable
  })
]);

/**
 * Loads the plugins a configuration names: a path relative to it, a package,
 * or an object. A plugin that does not load is left out and told as a fault.
 */
export async function loadEngines(
  plugins: unknown[],
  baseDirectory: string
): Promise<{ engines: Engine[]; faults: PluginFault[] }> {
  const engines: Engine[] = [];
  const faults: PluginFault[] = [];
  for (const [index, plugin] of plugins.entries()) {
    const name = typeof plugin === 'string' ? plugin : `plugins[${index}]`;
    try {
      const loaded =
        typeof plugin === 'string'
          ? await importDefault(plugin, baseDirectory)
          : plugin;
      const engine = checkEngine(loaded);
      engines.push(engine);
    } catch (error) {
      faults.push({ plugin: name, problem: problemOf(error) });
    }
  }
  return { engines, faults };
}

/** @throws ZodError when a value is no engine. */
function checkEngine(value: unknown): Engine {
  engineShape.parse(value);
  return value as Engine;
}

async function importDefault(
  specifier: string,
  baseDirectory: string
): Promise<unknown> {
  const isPath = /^(\.{1,2}[/\\]|[/\\]|[A-Za-z]:[/\\])/.test(specifier);
  const file = isPath
    ? join(specifier.startsWith('.') ? baseDirectory : '', specifier)
    : resolvePackage(specifier, baseDirectory);
  const module: unknown = await import(pathToFileURL(file).href);
  if (typeof module === 'object' && module !== null && 'default' in module)
    return module.default;
  throw new Error('it has no default export');
}

function resolvePackage(specifier: string, baseDirectory: string): string {
  const { resolve } = createRequire(join(baseDirectory, 'package.json'));
  try {
    return resolve(specifier);
  } catch (error) {
    // It has no entry for `require`, but may have one for `import`.
    if (errnoOf(error) !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw error;
    for (const modules of resolve.paths(specifier) ?? []) {
      const directory = join(modules, specifier);
      const text = readIfThere(join(directory, 'package.json'));
      const entry = text && entryIn(JSON.parse(text).exports);
      if (entry) return join(directory, entry);
    }
    throw error;
  }
}

/** The file that `exports` of a package.json names for an import. */
function entryIn(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports;
  if (typeof exports !== 'object' || exports === null) return undefined;
  return ['.', 'node', 'import', 'default']
    .map((key) => entryIn(Reflect.get(exports, key)))
    .find((entry) => entry !== undefined);
}

function problemOf(error: unknown): string {
  if (error instanceof z.ZodError)
    return error.issues
      .map((issue) => `${issue.path.join('.') || 'it'}: ${issue.message}`)
      .join('; ');
  return error instanceof Error ? error.message : String(error);
}
