import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Engine } from '../../plugin.ts';
import type { PluginFault } from './engine-registry.ts';

const callable = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function'
);

const apiLater = 'engines of kind "api" cannot be run yet';

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
    keyNames: z.array(z.string()).min(1),
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
      if (engine.kind === 'api') throw new Error(apiLater);
      engines.push(engine);
    } catch (error) {
      faults.push({ plugin: name, problem: problemOf(error) });
    }
  }
  return { engines, faults };
}

/** @throws ZodError when a value is no engine. */
export function checkEngine(value: unknown): Engine {
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
    : createRequire(join(baseDirectory, 'package.json')).resolve(specifier);
  const module: unknown = await import(pathToFileURL(file).href);
  if (typeof module === 'object' && module !== null && 'default' in module)
    return module.default;
  throw new Error('it has no default export');
}

function problemOf(error: unknown): string {
  if (error instanceof z.ZodError)
    return error.issues
      .map((issue) => `${issue.path.join('.') || 'it'}: ${issue.message}`)
      .join('; ');
  return error instanceof Error ? error.message : String(error);
}
