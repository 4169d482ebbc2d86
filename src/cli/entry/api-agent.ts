/**
 * Calls API engines outside the server, so that agents outlive it and it loads
 * no SDK. As a host, the program serves all agents of one built-in engine that
 * a server starts; they come through the IPC channel. Otherwise it is the
 * process of one agent: it reads its task from stdin and prints events.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { builtinEngines, optionalEngines } from '../../../plugins/index.ts';
import { configDigests, isKey, readConfigFile } from '../../config/file.ts';
import { ApiHost } from '../../core/engines/api/api-host.ts';
import {
  type ApiEvent,
  type ApiTask,
  type HostedAgent,
  hostArgument,
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

const apiKey = process.env[keyVariable] ?? '';
// The engine gets the key as an argument; its child processes do not need it.
delete process.env[keyVariable];
// A reply was written, or none is expected.
let answered = false;

if (process.argv[2] === hostArgument) serveAgents();
else await answerAlone();

/** Makes the calls of all agents that a server hands over. */
function serveAgents(): void {
  const host = new ApiHost({
    apiKey,
    engineOf: engineOrFailure,
    onIdle: () => process.exit(0)
  });
  process.on('message', (agent: HostedAgent, stdin) => {
    // The server closes its own copy of the socket.
    if (process.connected) process.send?.('received');
    if (stdin instanceof Socket) host.take(agent, stdin);
  });
  process.once('disconnect', () => host.end());
  // The server ended while this program was loading.
  if (!process.connected) host.end();
}

/** Makes the call of one agent, whose task is on stdin. */
async function answerAlone(): Promise<void> {
  const task: ApiTask = JSON.parse(readFileSync(0, 'utf8'));
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
    if (!answered)
      write({ type: 'reply', reply: { finished: false, failure } });
  });
  const engine = await engineOrFailure(task);
  if ('code' in engine)
    write({ type: 'reply', reply: { finished: false, failure: engine } });
  else await execute(engine, task, { apiKey, signal: stop.signal, write });
  process.exit(0);
}

function engineOrFailure(task: ApiTask): Promise<ApiEngine | Failure> {
  return engineOf(task).catch((error: unknown): Failure => {
    const message = `${task.label} could not be loaded: ${problemOf(error)}.`;
    return { code: 'spawn_failed', message };
  });
}

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
  throw new Error(`${where} no longer has the API engine "${task.engine}"`);
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
