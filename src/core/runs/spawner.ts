import { basename } from 'node:path';
import type {
  Access,
  CliEngine,
  Engine,
  EngineRequest,
  Failure
} from '../../plugin.ts';
import { type Journal, spawnedEvent } from '../audit/journal.ts';
import {
  type EngineRegistry,
  enforcementOf,
  labelOf
} from '../engines/engine-registry.ts';
import { HostError, storageError } from '../errors.ts';
import { resolveDirectory } from './containment.ts';
import type { Processes } from './ports.ts';
import type { Outcome, RunRecord, RunStatus } from './run.ts';
import type { RunStore } from './run-store.ts';
import { finishedEvent } from './settle.ts';
import type { RunStarter } from './starter.ts';

export interface SpawnRequest {
  engine: string;
  prompt: string;
  model?: string | undefined;
  timeoutSeconds?: number | undefined;
  systemPrompt?: string | undefined;
  requestId?: string | undefined;
  cwd?: string | undefined;
  access?: Access | undefined;
  /** An id reserved beforehand. */
  agentId?: string | undefined;
  /** The agent and session this one continues. */
  continues?: { agentId: string; sessionId: string } | undefined;
}

export interface Spawned {
  record: RunRecord;
  status: RunStatus;
  /** The same request id was spawned before; this is that agent. */
  repeated: boolean;
  failure?: Failure;
}

export interface SpawnerSettings {
  workspace: string;
  maxAccess: Access;
  maxDepth: number;
  outputLimitBytes: number;
  onDisconnect: 'keep' | 'stop';
  /** This server's own depth, and the agent it runs in. */
  depth: number;
  parent: string | null;
}

export interface SpawnerDependencies {
  registry: EngineRegistry;
  store: RunStore;
  journal: Journal;
  processes: Processes;
  starter: RunStarter;
  settings: SpawnerSettings;
}

const order: Access[] = ['read', 'write', 'full'];

/** Takes a request, puts it on disk and in the journal, and queues it. */
export class Spawner {
  readonly #with: SpawnerDependencies;

  constructor(dependencies: SpawnerDependencies) {
    this.#with = dependencies;
  }

  /**
   * Answers when the run is safe on disk; it starts right after.
   * @throws HostError when nothing was started: `cwd_outside`, `cwd_missing`,
   *   `depth_limit`, `unknown_engine`, `storage_full`, `storage_unwritable`.
   */
  async spawn(request: SpawnRequest): Promise<Spawned> {
    const { registry, settings, store } = this.#with;
    checkPrompt(request.prompt);
    const engine = registry.get(request.engine);
    if (settings.depth >= settings.maxDepth)
      throw new HostError(
        'depth_limit',
        `This agent was itself spawned ${settings.depth} deep; the limit is ${settings.maxDepth}.`,
        'Do the work here, or raise maxDepth in the configuration.'
      );
    const cwd = resolveDirectory(settings.workspace, request.cwd);
    for (let attempt = 0; ; attempt += 1) {
      const known = this.repeated(request.requestId, attempt);
      if (known) return known;
      const record = this.#record(engine, request, cwd, attempt);
      const failure = this.#cannotStart(engine);
      if (!this.#persist(record, request, failure)) continue;
      await this.#journal(record, request.prompt, failure);
      if (failure) {
        store.close(record.agent_id);
        return { record, status: 'failed', repeated: false, failure };
      }
      const { starter } = this.#with;
      const status = starter.add(record, this.#request(record, request.prompt));
      return { record, status, repeated: false };
    }
  }

  #record(
    engine: Engine,
    request: SpawnRequest,
    cwd: string,
    attempt: number
  ): RunRecord {
    const { registry, settings, store, processes } = this.#with;
    const wanted = request.access ?? 'full';
    const access =
      engine.kind === 'api'
        ? 'read'
        : (order[
            Math.min(order.indexOf(wanted), order.indexOf(settings.maxAccess))
          ] ?? 'read');
    const requestId = request.requestId ?? null;
    return {
      v: 1,
      agent_id:
        (attempt === 0 ? request.agentId : undefined) ??
        store.newId(requestId, attempt),
      engine: engine.name,
      label: labelOf(engine),
      kind: engine.kind,
      model: registry.modelOf(engine, request.model) ?? null,
      access,
      enforcement: enforcementOf(engine, access),
      tools: engine.kind === 'cli' ? (engine.tools?.(access) ?? null) : null,
      cwd,
      task: firstLine(request.prompt),
      prompt_chars: request.prompt.length,
      system_prompt: request.systemPrompt ?? null,
      timeout_seconds:
        request.timeoutSeconds ?? registry.timeoutOf(engine, request.prompt),
      idle_timeout_seconds: registry.idleTimeoutOf(engine),
      output_limit_bytes: settings.outputLimitBytes,
      on_disconnect: settings.onDisconnect,
      request_id: requestId,
      created_at: new Date().toISOString(),
      owner: processes.self,
      parent: settings.parent,
      depth: settings.depth + 1,
      continues: request.continues?.agentId ?? null,
      session_id: request.continues?.sessionId ?? null
    };
  }

  /** The agent that this request id started before, if it did. */
  repeated(requestId: string | undefined, attempt = 0): Spawned | undefined {
    const { store, starter } = this.#with;
    if (requestId === undefined) return undefined;
    const record = store.recordOf(store.newId(requestId, attempt));
    if (record?.request_id !== requestId) return undefined;
    const outcome = store.outcomeOf(record.agent_id);
    const status = outcome?.status ?? starter.statusOf(record);
    return { record, status, repeated: true };
  }

  #cannotStart(engine: Engine): Failure | undefined {
    const { registry, processes } = this.#with;
    if (engine.kind !== 'cli') return undefined;
    const command = registry.commandOf(engine);
    if (processes.locate(command)) return undefined;
    const how = engine.install ? ` Install it with: ${engine.install}` : '';
    return {
      code: 'not_installed',
      message: `${labelOf(engine)} is not installed: no program "${basename(command)}" on PATH.${how}`
    };
  }

  /** False when the id is another run's. */
  #persist(
    record: RunRecord,
    request: SpawnRequest,
    failure: Failure | undefined
  ): boolean {
    const { store, registry } = this.#with;
    const engine = registry.get(record.engine);
    const stdin = stdinOf(engine, this.#request(record, request.prompt));
    const outcome = failure ? outcomeOfRefused(record, failure) : undefined;
    try {
      return store.create(record, request.prompt, stdin, outcome);
    } catch (error) {
      throw storageError(error, store.root);
    }
  }

  async #journal(
    record: RunRecord,
    prompt: string,
    failure: Failure | undefined
  ): Promise<void> {
    const { store, journal } = this.#with;
    const { agent_id: id } = record;
    const path = `.agents/spawns/${id}/prompt.txt`;
    try {
      journal.append(spawnedEvent(record, journal.textOf(prompt, path)));
      if (!failure) return;
      const outcome = outcomeOfRefused(record, failure);
      const directory = store.directoryOf(id);
      journal.append(await finishedEvent(id, outcome, directory, journal));
    } catch (error) {
      store.discard(id);
      throw storageError(error, journal.path);
    }
  }

  #request(record: RunRecord, prompt: string): EngineRequest {
    const { baseUrl } = this.#with.registry.settingsOf(record.engine);
    return {
      prompt,
      access: record.access,
      cwd: record.cwd,
      asRoot: process.getuid?.() === 0,
      ...(record.model === null ? {} : { model: record.model }),
      ...(record.system_prompt === null
        ? {}
        : { systemPrompt: record.system_prompt }),
      ...(record.session_id === null ? {} : { sessionId: record.session_id }),
      ...(baseUrl === undefined ? {} : { baseUrl })
    };
  }
}

function checkPrompt(prompt: string): void {
  if (prompt.trim() === '')
    throw new HostError(
      'invalid_input',
      'The prompt is empty.',
      'Say in "prompt" what the agent should do.'
    );
  if (prompt.includes('\0'))
    throw new HostError(
      'invalid_input',
      'The prompt holds a NUL character, which no program takes as text.',
      'Remove it, or put binary data into a file and name that.'
    );
}

function stdinOf(engine: Engine, request: EngineRequest): string {
  const cli: CliEngine | undefined = engine.kind === 'cli' ? engine : undefined;
  if (cli?.stdin) return cli.stdin(request);
  return request.systemPrompt === undefined
    ? request.prompt
    : `${request.systemPrompt}\n\n${request.prompt}`;
}

function outcomeOfRefused(record: RunRecord, failure: Failure): Outcome {
  return {
    v: 1,
    status: 'failed',
    error: failure.message,
    error_code: failure.code,
    result_file: 'result.txt',
    result_chars: 0,
    exit_code: null,
    model: record.model,
    session_id: null,
    usage: null,
    session_usage: null,
    cost_usd: null,
    denials: [],
    started_at: null,
    completed_at: record.created_at,
    duration_ms: 0
  };
}

/** The first line that says something. */
function firstLine(prompt: string): string {
  return (
    prompt
      .split('\n', 50)
      .map((line) => line.trim())
      .find((line) => line !== '')
      ?.slice(0, 400) ?? ''
  );
}
