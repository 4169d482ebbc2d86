/**
 * The process of one API agent: reads its task from stdin, calls the engine
 * and prints events. In its own process, an API agent outlives the server, is
 * stopped and limited like any other agent, and keeps its SDK out of the
 * server.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { builtinEngines, optionalEngines } from '../../../plugins/index.ts';
import { configDigests, isKey, readConfigFile } from '../../config/file.ts';
import {
  type ApiEvent,
  type ApiTask,
  keyVariable,
  type PluginOfTask
} from '../../core/engines/api/api-task.ts';
import { execute } from '../../core/engines/api/execute.ts';
import { EngineFault } from '../../core/engines/failures.ts';
import { loadEngine, problemOf } from '../../core/engines/load/load-engines.ts';
import {
  areAmong,
  changedSince,
  type Digests
} from '../../core/state/integrity/digests.ts';
import { logProblem } from '../../host/log.ts';
import type { ApiEngine, Engine, Failure } from '../../plugin/plugin.ts';
import { logUncaughtErrors, ownStdout } from '../process/process-setup.ts';

ownStdout();
logUncaughtErrors(logProblem);

const task: ApiTask = JSON.parse(readFileSync(0, 'utf8'));
const apiKey = process.env[keyVariable] ?? '';
// The engine gets the key as an argument; its child processes do not need it.
delete process.env[keyVariable];

let answered = false;
const stop = new AbortController();
process.once('SIGTERM', () => {
  answered = true;
  stop.abort(new Error('stopped'));
  process.exit(143);
});
// Reports an exit without a reply: the event loop is empty, or a plugin has
// called `process.exit`.
process.once('exit', () => {
  const problem = 'ended without an answer';
  const { failure } = new EngineFault(
    task.engine,
    'generate',
    problem,
    'bad_output'
  );
  if (!answered) write({ type: 'reply', reply: { finished: false, failure } });
});

const engine = await engineOf(task).catch((error: unknown): Failure => {
  const message = `${task.label} could not be loaded: ${problemOf(error)}.`;
  return { code: 'spawn_failed', message };
});
if ('code' in engine)
  write({ type: 'reply', reply: { finished: false, failure: engine } });
else await execute(engine, task, { apiKey, signal: stop.signal, write });
process.exit(0);

function write(event: ApiEvent): void {
  answered ||= event.type === 'reply';
  try {
    writeFileSync(1, `${JSON.stringify(event)}\n`);
  } catch (error) {
    // A failed write, such as on a full disk, leaves the answer incomplete.
    logProblem(error);
    answered = true;
    process.exit(1);
  }
}

async function engineOf(task: ApiTask): Promise<ApiEngine> {
  const engine = task.plugin
    ? await loadPlugin(task.plugin)
    : builtin(task.engine);
  if (engine?.kind === 'api' && engine.name === task.engine) return engine;
  const where = task.plugin?.configFile ?? 'troupe itself';
  throw new Error(`${where} has no API engine "${task.engine}" there any more`);
}

function builtin(name: string): Engine | undefined {
  const engines = [...builtinEngines, ...optionalEngines];
  return engines.find((engine) => engine.name === name);
}

/** Loads only this plugin, so that faults of other plugins do not matter. */
async function loadPlugin({
  configFile,
  place,
  pinnedCode
}: PluginOfTask): Promise<Engine> {
  const directory = dirname(configFile);
  checkPinned(pinnedCode);
  const found = await readConfigFile(directory, configFile, () => true);
  const isPinned = Object.keys(pinnedCode).length > 0;
  if (isPinned && !areAmong(configDigests(found), pinnedCode))
    throw changedError(configFile);
  const { value } = found;
  const plugins: unknown =
    typeof value === 'object' && value !== null
      ? Reflect.get(value, 'plugins')
      : undefined;
  const plugin: unknown = Array.isArray(plugins) ? plugins[place] : undefined;
  return loadEngine(plugin, directory);
}

/**
 * An agent could have changed code that the user trusted.
 * @throws Error when a pinned file has changed
 */
function checkPinned(pinnedCode: Digests): void {
  const files = Object.entries(pinnedCode).filter(([file]) => !isKey(file));
  const file = changedSince(Object.fromEntries(files));
  if (file !== undefined) throw changedError(file);
}

function changedError(file: string): Error {
  return new Error(
    `${file} has changed since the user trusted this workspace; run "troupe trust" and restart the server`
  );
}
