/**
 * The process of one API agent: reads its task on stdin, asks the engine, and
 * puts events out. A process of its own, so that an API agent outlives a
 * server, is stopped and limited like any other, and its SDK never weighs on
 * the server.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { builtinEngines, optionalEngines } from '../../plugins/index.ts';
import { configDigests, isKey, readConfigFile } from '../config-file.ts';
import {
  type ApiEvent,
  type ApiTask,
  keyVariable,
  type PluginOfTask
} from '../core/engines/api-task.ts';
import { EngineFault } from '../core/engines/engine-fault.ts';
import { execute } from '../core/engines/execute.ts';
import { loadEngine, problemOf } from '../core/engines/load-engines.ts';
import { areAmong, changedSince, type Digests } from '../core/state/digests.ts';
import { logProblem } from '../log.ts';
import type { ApiEngine, Engine, Failure } from '../plugin.ts';
import { ownStdout, surviveStrays } from './own-stdout.ts';

ownStdout();
surviveStrays(logProblem);

const task: ApiTask = JSON.parse(readFileSync(0, 'utf8'));
const apiKey = process.env[keyVariable] ?? '';
// The engine gets it as an argument; nothing it starts needs it.
delete process.env[keyVariable];

let answered = false;
const stop = new AbortController();
process.once('SIGTERM', () => {
  answered = true;
  stop.abort(new Error('stopped'));
  process.exit(143);
});
// With nothing left to wait for, or by a plugin's process.exit.
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
    // A full disk: a piece that is lost here would be missing in the answer.
    logProblem(error);
    answered = true;
    process.exit(1);
  }
}

async function engineOf(task: ApiTask): Promise<ApiEngine> {
  const engine = task.plugin ? await loaded(task.plugin) : builtin(task.engine);
  if (engine?.kind === 'api' && engine.name === task.engine) return engine;
  const where = task.plugin?.configFile ?? 'troupe itself';
  throw new Error(`${where} has no API engine "${task.engine}" there any more`);
}

function builtin(name: string): Engine | undefined {
  const engines = [...builtinEngines, ...optionalEngines];
  return engines.find((engine) => engine.name === name);
}

/** That plugin alone: what is wrong with the others is none of its concern. */
async function loaded({
  configFile,
  place,
  pinnedCode
}: PluginOfTask): Promise<Engine> {
  const directory = dirname(configFile);
  checkPinned(pinnedCode);
  const found = await readConfigFile(directory, configFile, () => true);
  const isPinned = Object.keys(pinnedCode).length > 0;
  if (isPinned && !areAmong(configDigests(found), pinnedCode))
    throw changed(configFile);
  const { value } = found;
  const plugins: unknown =
    typeof value === 'object' && value !== null
      ? Reflect.get(value, 'plugins')
      : undefined;
  const plugin: unknown = Array.isArray(plugins) ? plugins[place] : undefined;
  return loadEngine(plugin, directory);
}

/** An agent could have changed what the user trusted. */
function checkPinned(pinnedCode: Digests): void {
  const files = Object.entries(pinnedCode).filter(([file]) => !isKey(file));
  const file = changedSince(Object.fromEntries(files));
  if (file !== undefined) throw changed(file);
}

function changed(file: string): Error {
  return new Error(
    `${file} has changed since the user trusted this workspace; run "troupe trust" and restart the server`
  );
}
