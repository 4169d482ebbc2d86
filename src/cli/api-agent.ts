/**
 * The process of one API agent: reads its task on stdin, asks the engine, and
 * puts events out. A process of its own, so that an API agent outlives a
 * server, is stopped and limited like any other, and its SDK never weighs on
 * the server.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { builtinEngines, optionalEngines } from '../../plugins/index.ts';
import { readConfigFile } from '../config-file.ts';
import { type ApiTask, keyVariable } from '../core/engines/api-task.ts';
import { execute } from '../core/engines/execute.ts';
import { loadEngines } from '../core/engines/load-engines.ts';
import type { ApiEngine, Engine } from '../plugin.ts';
import { ownStdout } from './own-stdout.ts';

ownStdout();

const task: ApiTask = JSON.parse(readFileSync(0, 'utf8'));
const apiKey = process.env[keyVariable] ?? '';
// The engine gets it as an argument; nothing it starts needs it.
delete process.env[keyVariable];

const stop = new AbortController();
process.once('SIGTERM', () => {
  stop.abort(new Error('stopped'));
  process.exit(143);
});

await execute(await engineOf(task), task, {
  apiKey,
  signal: stop.signal,
  write: (event) => writeFileSync(1, `${JSON.stringify(event)}\n`)
});
process.exit(0);

async function engineOf({ engine, configFile }: ApiTask): Promise<ApiEngine> {
  const engines = configFile === null ? builtin() : await loaded(configFile);
  const found = engines.findLast(({ name }) => name === engine);
  if (found?.kind === 'api') return found;
  const where = configFile ?? 'troupe itself';
  throw new Error(`There is no API engine "${engine}" in ${where}.`);
}

function builtin(): Engine[] {
  return [...builtinEngines, ...optionalEngines];
}

async function loaded(configFile: string): Promise<Engine[]> {
  const { value } = await readConfigFile(dirname(configFile), configFile);
  const plugins: unknown =
    typeof value === 'object' && value !== null
      ? Reflect.get(value, 'plugins')
      : undefined;
  const { engines } = await loadEngines(
    Array.isArray(plugins) ? plugins : [],
    dirname(configFile)
  );
  return engines;
}
