import { join } from 'node:path';
import type { Access, CliEngine, Engine, EngineRequest } from '../../plugin.ts';
import { type EngineRegistry, labelOf } from '../engines/engine-registry.ts';
import { childEnvironment } from '../engines/environment.ts';
import { HostError } from '../errors.ts';
import { checkStillInside } from '../runs/containment.ts';
import { capped } from '../runs/new-record.ts';
import type { LaunchRequest, Processes } from '../runs/ports.ts';
import { isSameProcess } from '../runs/run.ts';
import { readIfThere, writeNew } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { briefing } from './briefing.ts';
import { placeConnection } from './place-connection.ts';
import type { WorkerMeta } from './records.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

export interface LaunchSettings {
  /** What starts a server of ours. */
  server: { command: string; args: string[] };
  /** The configuration, for that server. */
  configFile: string | undefined;
  /** That server trusts the workspace because this one was started so. */
  isTrusted: boolean;
  workspace: string;
  maxAccess: Access;
  heartbeatSeconds: number;
}

export interface PlannedLaunch {
  request: LaunchRequest;
  /** Goes to its screen once that stands. */
  typed?: string;
}

export interface LaunchParts {
  registry: EngineRegistry;
  processes: Processes;
  store: WorkerStore;
  settings: LaunchSettings;
}

/** An engine that can be a worker. */
export type WorkerEngine = CliEngine & Required<Pick<CliEngine, 'connect'>>;

/** Below a start's folder, what connects the program; may hold secrets. */
export const connectionName = 'connection';

/** The tools of a worker, and all it may use of ours. */
const workerTools = ['wait_for_command', 'emit_event'];

/** A wait shorter than any client's patience with one call. */
const waitMs = 45_000;

/** Says what is started for a worker. */
export class WorkerLaunch {
  readonly #with: LaunchParts;

  constructor(parts: LaunchParts) {
    this.#with = parts;
  }

  /**
   * The engine, if it can be a worker on this backend and is installed.
   * @throws HostError `unknown_engine`, `not_a_worker`, `not_installed`
   */
  engineFor(name: string, backend: WorkerMeta['backend']): WorkerEngine {
    const { registry, processes } = this.#with;
    const engine = registry.get(name);
    const others = registry
      .all()
      .filter((other) => canWork(other, backend))
      .map((other) => other.name);
    if (!canWork(engine, backend))
      throw new HostError(
        'not_a_worker',
        `The engine ${name} cannot be a worker ${backend === 'tmux' ? 'in a pane' : 'in the background'}.`,
        others.length > 0
          ? `Use one of: ${others.join(', ')}.`
          : 'No engine of this host can; docs/orchestrator.md says what it takes.'
      );
    if (processes.locate(registry.commandOf(engine))) return engine;
    throw new HostError(
      'not_installed',
      `${labelOf(engine)} is not installed: there is no program "${registry.commandOf(engine)}".`,
      engine.install
        ? `Install it with: ${engine.install}`
        : 'Install it, or name its path as engines.<name>.command in the configuration.'
    );
  }

  /** Its program, with all files it needs in its folder. */
  planFor(worker: Worker, directory: string): PlannedLaunch {
    const { registry, processes, settings } = this.#with;
    const { meta, folder } = worker;
    checkStillInside(settings.workspace, meta.cwd);
    const { role, env, depth, terms } = this.#with.store.requestOf(
      meta.agent_id
    );
    const engine = this.engineFor(meta.engine, meta.backend);
    const configured = registry.settingsOf(engine.name);
    const request: EngineRequest = {
      prompt: briefing({
        agentId: meta.agent_id,
        name: meta.name,
        role,
        artifacts: folder.artifacts,
        heartbeatSeconds: settings.heartbeatSeconds,
        waitMs
      }),
      // Another server may have made it, under another ceiling.
      access: capped(meta.access, settings.maxAccess),
      cwd: meta.cwd,
      asRoot: process.getuid?.() === 0,
      ...(meta.model === null ? {} : { model: meta.model }),
      ...(configured.baseUrl === undefined
        ? {}
        : { baseUrl: configured.baseUrl })
    };
    const inPane = meta.backend === 'tmux' ? engine.interactive : undefined;
    const environment = childEnvironment(
      engine,
      request,
      { agent_id: meta.agent_id, depth },
      directory,
      { ...configured, asked: env }
    );
    const own = join(directory, connectionName);
    ensureDirectory(own);
    const connection = engine.connect(this.#serverFor(meta), own, {
      request,
      inTerminal: inPane !== undefined,
      environment,
      read: readIfThere
    });
    placeConnection(own, connection);
    if (!inPane)
      writeNew(
        join(directory, 'stdin'),
        engine.stdin?.(request) ?? request.prompt
      );
    const launch: LaunchRequest = {
      agentId: meta.agent_id,
      directory,
      command:
        processes.locate(registry.commandOf(engine)) ??
        registry.commandOf(engine),
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

  #serverFor(meta: WorkerMeta) {
    const { server, configFile, isTrusted, workspace } = this.#with.settings;
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
      tools: workerTools,
      callSeconds: (2 * waitMs) / 1000
    };
  }
}

function canWork(
  engine: Engine,
  backend: WorkerMeta['backend']
): engine is WorkerEngine {
  if (engine.kind !== 'cli' || engine.connect === undefined) return false;
  return backend === 'process' || engine.interactive !== undefined;
}
