import { join } from 'node:path';
import type { Access, Engine, EngineRequest } from '../../../plugin/plugin.ts';
import {
  type ConnectedEngine,
  canConnect,
  connected
} from '../../engines/connection.ts';
import { type EngineRegistry, labelOf } from '../../engines/engine-registry.ts';
import { childEnvironment } from '../../engines/environment.ts';
import { HostError } from '../../errors.ts';
import { isSameProcess } from '../../processes/process-identity.ts';
import { checkStillInside } from '../../runs/admission/containment.ts';
import type { LaunchRequest, Processes } from '../../runs/ports.ts';
import { capped } from '../../runs/start/new-record.ts';
import { writeNew } from '../../state/files/atomic-file.ts';
import type { WorkerMeta } from '../queue/records.ts';
import type { Worker, WorkerStore } from '../queue/worker-store.ts';

/** The values in the first prompt of a worker. */
export interface BriefFacts {
  agentId: string;
  name: string;
  /** The full text of the role. */
  role: string;
  /** Absolute path of the folder for files that are not part of the project. */
  artifacts: string;
  heartbeatSeconds: number;
  /** The longest wait of one request for a task. */
  waitMs: number;
}

/** The interface through which workers get tasks and report events. */
export interface WorkerInterface {
  /** The tool that waits for a task. */
  waitTool: string;
  /** The only tools of troupe that a worker may call. */
  tools: string[];
  /** The first prompt: the identity of the worker, and the loop it runs. */
  brief: (facts: BriefFacts) => string;
}

export interface LaunchSettings {
  interface: WorkerInterface;
  /** The command that starts the server of a worker. */
  server: { command: string; args: string[] };
  /** The configuration file of that server. */
  configFile: string | undefined;
  /** Whether that server trusts the workspace, as this one does. */
  isTrusted: boolean;
  workspace: string;
  maxAccess: Access;
  heartbeatSeconds: number;
}

export interface LaunchParts {
  registry: EngineRegistry;
  processes: Processes;
  store: WorkerStore;
  settings: LaunchSettings;
}

export interface PlannedLaunch {
  request: LaunchRequest;
  /** Pasted into the pane once its screen stays unchanged. */
  typed?: string;
}

/** Every client accepts a call of this length. */
const waitMs = 45_000;

/**
 * Finds the engine for a worker by its name or an alias of its plugin.
 * @throws HostError `unknown_engine`, `not_a_worker`, `not_installed`
 */
export function workerEngine(
  { registry, processes }: Pick<LaunchParts, 'registry' | 'processes'>,
  name: string,
  backend: WorkerMeta['backend']
): ConnectedEngine {
  const workers = registry
    .all()
    .filter((one): one is ConnectedEngine => canWork(one, backend));
  const engine =
    workers.find((worker) => worker.name === name) ??
    workers.find((worker) => worker.workerAliases?.includes(name)) ??
    registry.get(name);
  if (!canWork(engine, backend)) {
    const names = workers.map((worker) => worker.name);
    throw new HostError(
      'not_a_worker',
      `The engine ${name} cannot be a worker ${backend === 'tmux' ? 'in a pane' : 'in the background'}.`,
      names.length > 0
        ? `Use one of: ${names.join(', ')}.`
        : 'No engine of this host can; docs/guides/orchestrator.md says what it takes.'
    );
  }
  if (processes.locate(registry.commandOf(engine))) return engine;
  throw new HostError(
    'not_installed',
    `${labelOf(engine)} is not installed: there is no program "${registry.commandOf(engine)}".`,
    engine.install
      ? `Install it with: ${engine.install}`
      : 'Install it, or name its path as engines.<name>.command in the configuration.'
  );
}

/** Plans the start of a worker's program, and writes the files for it. */
export function planLaunch(
  parts: LaunchParts,
  worker: Worker,
  directory: string
): PlannedLaunch {
  const { registry, processes, settings, store } = parts;
  const { meta, folder } = worker;
  checkStillInside(settings.workspace, meta.cwd);
  const { role, env, depth, terms } = store.requestOf(meta.agent_id);
  const engine = workerEngine(parts, meta.engine, meta.backend);
  const configured = registry.settingsOf(engine.name);
  const request: EngineRequest = {
    prompt: settings.interface.brief({
      agentId: meta.agent_id,
      name: meta.name,
      role,
      artifacts: folder.artifacts,
      heartbeatSeconds: settings.heartbeatSeconds,
      waitMs
    }),
    // A server with a higher limit may have created the worker.
    access: capped(meta.access, settings.maxAccess),
    cwd: meta.cwd,
    asRoot: process.getuid?.() === 0,
    ...(meta.model === null ? {} : { model: meta.model }),
    ...(configured.baseUrl === undefined ? {} : { baseUrl: configured.baseUrl })
  };
  const inPane = meta.backend === 'tmux' ? engine.interactive : undefined;
  const environment = childEnvironment(
    engine,
    request,
    { agent_id: meta.agent_id, depth },
    directory,
    { ...configured, asked: env }
  );
  const connection = connected(engine, serverFor(meta, settings), directory, {
    request,
    inTerminal: inPane !== undefined,
    environment
  });
  if (!inPane)
    writeNew(
      join(directory, 'stdin'),
      engine.stdin?.(request) ?? request.prompt
    );
  const command = registry.commandOf(engine);
  const launch: LaunchRequest = {
    agentId: meta.agent_id,
    directory,
    command: processes.locate(command) ?? command,
    args: [
      ...registry.argumentsBefore(engine),
      ...connection.args,
      ...(inPane?.args(request) ?? engine.args(request))
    ],
    cwd: meta.cwd,
    environment: {
      ...environment,
      ...connection.env,
      ...inPane?.env?.(request)
    },
    timeoutSeconds: 0,
    idleTimeoutSeconds: 0,
    outputLimitBytes: 0,
    stopWithUs:
      terms.onDisconnect === 'stop' &&
      isSameProcess(terms.maker, processes.self)
  };
  return {
    request: launch,
    ...(inPane?.typesPrompt ? { typed: request.prompt } : {})
  };
}

function serverFor(meta: WorkerMeta, settings: LaunchSettings) {
  const { server, configFile, isTrusted, workspace } = settings;
  return {
    name: 'agents',
    command: server.command,
    args: [
      ...server.args,
      ...['mcp', '--toolsets', 'worker', '--agent-id', meta.agent_id],
      ...['--workspace', workspace],
      ...(configFile === undefined ? [] : ['--config', configFile]),
      ...(isTrusted ? ['--trust'] : [])
    ],
    env: {},
    tools: settings.interface.tools,
    callSeconds: (2 * waitMs) / 1000
  };
}

function canWork(
  engine: Engine,
  backend: WorkerMeta['backend']
): engine is ConnectedEngine {
  if (!canConnect(engine)) return false;
  return backend === 'process' || engine.interactive !== undefined;
}
