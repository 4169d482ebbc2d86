import { isAbsolute } from 'node:path';
import type {
  CliEngine,
  Engine,
  EngineRequest,
  Reply,
  Usage
} from '../../plugin/plugin.ts';
import type { ApiKeys } from '../engines/api/api-keys.ts';
import { keyVariable } from '../engines/api/api-task.ts';
import { type EngineRegistry, labelOf } from '../engines/engine-registry.ts';
import { childEnvironment } from '../engines/environment.ts';
import { LineReader } from '../state/files/line-reader.ts';
import { sizeOf } from '../state/files/text-file.ts';
import { withTimeout } from '../timing.ts';
import type { LaunchRequest, Processes } from './ports.ts';
import type { RunRecord } from './run.ts';
import { parseJson } from './run-files.ts';

export interface ProgramDependencies {
  registry: EngineRegistry;
  keys: ApiKeys;
  processes: Processes;
}

export interface Program {
  command: string;
  args: string[];
  environment: Record<string, string>;
  isPlain: boolean;
  sharedEngine?: string;
  runs?: NonNullable<LaunchRequest['runs']>;
}

/** The supervisor waits longer, because an API agent reports silence better. */
const apiIdleSlackSeconds = 10;

/** Only the end of a longer log is read. */
const mostLogBytes = 64 * 1024 * 1024;
const mostLineBytes = 1024 * 1024;
/** A log on a slow disk must not delay the end of a run. */
const logTimeoutMs = 5000;

/** @throws Error when an API key is no longer set, or when the plugin throws */
export function programOf(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  directory: string,
  dependencies: ProgramDependencies
): Program {
  const { registry, keys, processes } = dependencies;
  const environment = environmentOf(
    engine,
    request,
    record,
    directory,
    dependencies
  );
  if (engine.kind === 'cli') {
    const command = registry.commandOf(engine);
    return {
      command: processes.locate(command) ?? command,
      args: [...registry.argumentsBefore(engine), ...engine.args(request)],
      environment,
      isPlain: engine.read === undefined
    };
  }
  const key = keys.find(engine);
  const fault = keys.faultOf(engine, labelOf(engine));
  if (fault) throw new Error(fault.message);
  return {
    ...processes.apiAgent,
    isPlain: false,
    // Code of a plugin may do anything to its process.
    ...(registry.placeOf(engine) === undefined
      ? { sharedEngine: engine.name }
      : {}),
    environment: {
      // Makes recent versions of Node use HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
      NODE_USE_ENV_PROXY: '1',
      ...environment,
      ...(key ? { [keyVariable]: key.value } : {})
    }
  };
}

export function environmentOf(
  engine: Engine,
  request: EngineRequest,
  record: RunRecord,
  directory: string,
  { registry }: Pick<ProgramDependencies, 'registry'>
): Record<string, string> {
  const parts: Pick<CliEngine, 'env'> = engine.kind === 'cli' ? engine : {};
  const settings = registry.settingsOf(engine.name);
  return childEnvironment(parts, request, record, directory, settings);
}

/** Seconds of silence until the supervisor stops a run; 0 for never. */
export function silenceLimitOf(record: RunRecord): number {
  const { kind, idle_timeout_seconds: seconds } = record;
  return kind === 'api' && seconds > 0
    ? seconds + apiIdleSlackSeconds
    : seconds;
}

export type Variables = Record<string, string | undefined>;

/**
 * Token usage of a run from the program's own log. Undefined for an engine
 * without such a log, or when the log cannot be read.
 * @param since start of the run: the log contains earlier turns of the session
 */
export async function loggedUsage(
  engine: Engine | undefined,
  sessionId: string | null,
  since: Date | undefined,
  variables: Variables
): Promise<Usage | undefined> {
  if (engine?.kind !== 'cli' || !engine.usageLog) return undefined;
  if (sessionId === null || since === undefined) return undefined;
  const { path, read } = engine.usageLog;
  const begin = since.toISOString();
  const work = async () => {
    const file = path(sessionId, variables);
    if (file === undefined || !isAbsolute(file)) return undefined;
    const start = Math.max(0, sizeOf(file) - mostLogBytes);
    let reply: Reply = { text: '', finished: false };
    await new LineReader(file, mostLineBytes, start).read((line) => {
      const event = parseJson(line);
      if (event !== undefined) reply = read(reply, event, begin);
    }, true);
    return reply.usage;
  };
  return withTimeout(
    work().catch(() => undefined),
    logTimeoutMs,
    undefined
  );
}
