import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ApiEngine,
  Engine,
  EngineRequest,
  Failure
} from '../../../plugin/plugin.ts';
import type { ApiTask } from '../../engines/api/api-task.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import { catchEngineFault, EngineFault } from '../../engines/failures.ts';
import type { Prices } from '../../engines/price.ts';
import { messageOf } from '../../errors.ts';
import { replaceFile } from '../../state/files/atomic-file.ts';
import { appendTo, overwriteStart } from '../../state/files/own-file.ts';
import type { Digests } from '../../state/integrity/digests.ts';
import { checkStillInside } from '../admission/containment.ts';
import { isRefused, NotClaimed } from '../damaged-run.ts';
import {
  type ProgramDependencies,
  programOf,
  silenceLimitOf
} from '../program.ts';
import { notPrepared, type RunRecord } from '../run.ts';
import type { RunEvents } from '../run-events.ts';
import {
  claimNeverStarts,
  hasExited,
  noteLaunched,
  wasClaimed
} from '../run-files.ts';
import type { RunStore } from '../run-store.ts';
import { turnsBefore } from '../sessions/session-turns.ts';
import type { Waiting } from '../spawn-request.ts';
import { type AskParts, connectAsks } from './connect-asks.ts';

/** Where the process of an API run finds the plugin of its engine. */
export interface PluginSource {
  configFile: string | null;
  /** Files that must have these digests when the plugin is loaded. */
  pinnedCode: Digests;
}

interface StdinDependencies {
  registry: EngineRegistry;
  store: RunStore;
  settings: PluginSource & { prices: Prices };
}

export interface LaunchDependencies
  extends ProgramDependencies,
    StdinDependencies {
  workspace: string;
  events: RunEvents;
  asks?: AskParts;
}

/**
 * Calls all functions of an engine that its start needs, so that the spawn
 * reports a plugin fault.
 * @returns the stdin of the run's process, or the failure that prevents its
 *   start
 */
export function preflight(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  dependencies: StdinDependencies
): { stdin: string; failure?: Failure } {
  return catchEngineFault<{ stdin: string; failure?: Failure }>(
    () => {
      dependencies.registry.timeoutOf(engine, request.prompt);
      if (engine.kind === 'cli') {
        engine.tools?.(request.access);
        engine.args(request);
        engine.env?.set?.(request);
      }
      return { stdin: stdinOf(engine, request, record, dependencies) };
    },
    ({ failure }) => ({ stdin: '', failure })
  );
}

/**
 * Starts a run's process under its supervisor. Resolves when the supervisor has
 * ended or could not start; never rejects.
 * @returns the problem if the disk refused files, so that the run has not
 *   started and may be launched again
 */
export async function launchRun(
  waiting: Waiting,
  directory: string,
  dependencies: LaunchDependencies
): Promise<unknown> {
  const { record, request, engine } = waiting;
  const { workspace, events, processes, asks } = dependencies;
  try {
    checkStillInside(workspace, record.cwd);
    renewStdin(waiting, dependencies);
    noteLaunched(directory, engine.name);
    events.runStarted(record);
    const program = programOf(engine, request, record, directory, dependencies);
    const couldClaim = await processes.launch({
      agentId: record.agent_id,
      directory,
      ...(asks
        ? connectAsks(program, waiting, directory, {
            ...asks,
            workspace
          })
        : program),
      cwd: record.cwd,
      timeoutSeconds: record.timeout_seconds,
      idleTimeoutSeconds: silenceLimitOf(record),
      outputLimitBytes: record.output_limit_bytes,
      askSeconds: record.ask ? (record.ask_timeout_seconds ?? 0) : 0,
      stopWithUs: record.on_disconnect === 'stop'
    }).ended;
    if (!couldClaim) return new NotClaimed();
    if (!wasClaimed(directory) && !hasExited(directory))
      throw new Error('its supervisor was killed before it began');
    return undefined;
  } catch (error) {
    if (isRefused(error, dependencies.store.root)) return error;
    const isFault = error instanceof EngineFault;
    notLaunched(directory, error, isFault ? notPrepared : undefined);
    return undefined;
  }
}

/** Delay between attempts to record a failed launch. */
const againMs = 1000;

/**
 * Records that a process could not be launched, so that the run ends as one
 * whose engine cannot start. Never throws: on a full disk or without a free
 * file descriptor, it tries again later.
 */
export function notLaunched(
  directory: string,
  error: unknown,
  exitCode = 126
): void {
  const message = messageOf(error);
  try {
    if (!claimNeverStarts(directory)) return;
    appendTo(join(directory, 'stderr'), `troupe: ${message}\n`);
    overwriteStart(join(directory, 'exit'), `${exitCode}\n`);
  } catch {
    if (!existsSync(directory)) return;
    const again = () => notLaunched(directory, error, exitCode);
    setTimeout(again, againMs).unref();
  }
}

/**
 * Rewrites the stdin of an API run when its turn in a chat begins: at the time
 * of the spawn, earlier turns had not ended.
 */
function renewStdin(
  { engine, request, record, after }: Waiting,
  dependencies: StdinDependencies
): void {
  if (engine.kind !== 'api' || after.length === 0) return;
  const { store } = dependencies;
  checkFirstTurn(record, store);
  const path = join(store.directoryOf(record.agent_id), 'stdin');
  replaceFile(path, stdinOf(engine, request, record, dependencies));
}

/** @throws Error when the first turn of a chat, which has its role, failed */
function checkFirstTurn(
  { in_chat, session_id: chat }: RunRecord,
  store: RunStore
) {
  if (!in_chat || chat === null) return;
  const first = store.outcomeOf(chat);
  if (first && first.status !== 'completed')
    throw new Error(
      `the first turn of the chat ${chat} ended as ${first.status}, so it has no role to go on with; leave chatId out for a new chat`
    );
}

function stdinOf(
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
 * Where the run's own process finds the engine; null for a built-in one.
 * @throws EngineFault when the engine is an object of this process only
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
