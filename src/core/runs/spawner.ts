import { basename } from 'node:path';
import type { Access, Engine, EngineRequest, Failure } from '../../plugin.ts';
import { type Journal, spawnedEvent } from '../audit/journal.ts';
import { isolated } from '../changes/isolation.ts';
import { warnOfOtherWriters } from '../changes/other-writers.ts';
import type { Repositories } from '../changes/ports.ts';
import type { ApiKeys } from '../engines/api-keys.ts';
import { type EngineRegistry, labelOf } from '../engines/engine-registry.ts';
import type { Prices } from '../engines/price.ts';
import { storageError } from '../errors.ts';
import { Pace } from '../pace.ts';
import type { Admission } from './admission.ts';
import { resolveDirectory } from './containment.ts';
import { checkTexts, newRecord, outcomeOfRefused } from './new-record.ts';
import type { Origin } from './origin.ts';
import type { Processes } from './ports.ts';
import { preflight } from './preflight.ts';
import type { RunRecord } from './run.ts';
import { noteJournalled } from './run-files.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';
import { finishedEvent } from './settle.ts';
import type { Spawned, SpawnRequest } from './spawn-request.ts';
import type { RunStarter } from './starter.ts';
import type { PluginSource } from './stdin.ts';

export interface SpawnerSettings extends PluginSource {
  workspace: string;
  prices: Prices;
  maxAccess: Access;
  outputLimitBytes: number;
  onDisconnect: 'keep' | 'stop';
}

export interface SpawnerDependencies {
  registry: EngineRegistry;
  keys: ApiKeys;
  store: RunStore;
  journal: Journal;
  processes: Processes;
  tracker: RunTracker;
  starter: RunStarter;
  origin: Origin;
  admission: Admission;
  repositories: Repositories;
  settings: SpawnerSettings;
}

/** Takes a request, puts it on disk and in the journal, and queues it. */
export class Spawner {
  readonly #with: SpawnerDependencies;
  readonly #pace = new Pace();

  constructor(dependencies: SpawnerDependencies) {
    this.#with = dependencies;
  }

  /**
   * Answers when the run is safe on disk; it starts right after.
   * @throws HostError when nothing was started: `cwd_outside`, `cwd_missing`,
   *   `no_repository`, `depth_limit`, `disk_limit`, `spawn_rate`,
   *   `at_capacity`, `unknown_engine`, `storage_full`, `storage_unwritable`.
   */
  async spawn(request: SpawnRequest): Promise<Spawned> {
    const { registry, settings, store, admission } = this.#with;
    checkTexts(request);
    // To make one takes a millisecond or more of the system's calls.
    const turn = this.#pace.turn();
    if (turn) await turn;
    const engine = request.as ?? registry.get(request.engine);
    admission.checkDepth();
    const { worktree } = request;
    const cwd =
      (worktree && request.cwd) ??
      resolveDirectory(settings.workspace, request.cwd);
    for (let attempt = 0; ; attempt += 1) {
      if (request.requestId !== undefined) {
        const known = await this.repeated(request.requestId, attempt);
        if (known) return known;
      }
      const plain = newRecord(engine, request, cwd, attempt, this.#with);
      // Without a pause: a list that comes right behind knows this agent.
      const record =
        request.isolate || worktree
          ? await isolated(plain, request, this.#with)
          : plain;
      const { stdin, failure } = this.#prepare(engine, record, request);
      const after = request.after ?? [];
      const isAgents = !failure && admission.isAgents(record);
      const isAtOnce = isAgents && after.length === 0;
      if (!request.isCounted) admission.checkDisk();
      if (isAtOnce) await admission.checkRoom([engine.name]);
      if (!request.isCounted) admission.checkRate();
      if (!this.#persist(record, request, stdin, failure)) {
        // The same request may have come through another server just now.
        const winner = await this.repeated(request.requestId, attempt);
        if (winner) return winner;
        continue;
      }
      if (isAtOnce) await this.#seat(record);
      if (!request.isCounted) admission.count();
      await this.#journal(record, request.prompt, failure);
      if (failure) {
        store.close(record.agent_id);
        return { record, status: 'failed', repeated: false, failure };
      }
      const { starter } = this.#with;
      const status = starter.add({
        record,
        engine,
        request: this.#request(record, request.prompt),
        after,
        createChat: request.createChat,
        isAgents
      });
      void store.spare.fill(this.#pace);
      const isInTurn = after.length > 0;
      // It is at work: nothing may be answered now but that.
      const warning = request.isWarned
        ? undefined
        : await warnOfOtherWriters(record, this.#with, isInTurn).catch(
            () => undefined
          );
      const told = warning === undefined ? {} : { warning };
      return { record, status, repeated: false, ...told };
    }
  }

  /** The agent that this request id started before, as it stands now. */
  async repeated(
    requestId: string | undefined,
    attempt = 0
  ): Promise<Spawned | undefined> {
    const { store, tracker } = this.#with;
    if (requestId === undefined) return undefined;
    const id = store.newId(requestId, attempt);
    if (store.recordOf(id)?.request_id !== requestId) return undefined;
    const run = await tracker.run(id);
    return run && { ...run, repeated: true };
  }

  #cannotStart(engine: Engine): Failure | undefined {
    const { registry, processes, keys } = this.#with;
    if (engine.kind === 'api') return keys.faultOf(engine, labelOf(engine));
    const command = registry.commandOf(engine);
    if (processes.locate(command)) return undefined;
    const how = engine.install ? ` Install it with: ${engine.install}` : '';
    const missing =
      basename(command) === command
        ? `no program "${command}" on PATH`
        : `${command} is no program that can be run`;
    return {
      code: 'not_installed',
      message: `${labelOf(engine)} is not installed: ${missing}.${how}`
    };
  }

  /** What its process is given, or why there will be none. */
  #prepare(
    engine: Engine,
    record: RunRecord,
    request: SpawnRequest
  ): { stdin: string; failure?: Failure } {
    const failure = request.failure ?? this.#cannotStart(engine);
    if (failure) return { stdin: '', failure };
    const asked = this.#request(record, request.prompt);
    return preflight(engine, asked, record, this.#with);
  }

  /** False when the id is another run's. */
  #persist(
    record: RunRecord,
    request: SpawnRequest,
    stdin: string,
    failure: Failure | undefined
  ): boolean {
    const { store } = this.#with;
    const outcome = failure ? outcomeOfRefused(record, failure) : undefined;
    try {
      return store.create(record, request.prompt, stdin, outcome);
    } catch (error) {
      throw storageError(error, store.root);
    }
  }

  /** @throws HostError `at_capacity`; then there is no such run */
  async #seat(record: RunRecord): Promise<void> {
    const { store, admission } = this.#with;
    try {
      await admission.seat(record);
    } catch (error) {
      store.discard(record.agent_id);
      throw storageError(error, store.root);
    }
  }

  async #journal(
    record: RunRecord,
    prompt: string,
    failure: Failure | undefined
  ): Promise<void> {
    const { store, journal, admission } = this.#with;
    const { agent_id: id } = record;
    const path = `spawns/${id}/prompt.txt`;
    try {
      const directory = store.directoryOf(id);
      journal.append(spawnedEvent(record, journal.textOf(prompt, path)));
      noteJournalled(directory);
      if (!failure) return;
      const outcome = outcomeOfRefused(record, failure);
      store.sizes.note(id);
      journal.append(await finishedEvent(id, outcome, directory, journal));
    } catch (error) {
      admission.unseat(record);
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
      ...(record.new_session_id ? { newSessionId: record.new_session_id } : {}),
      ...(baseUrl === undefined ? {} : { baseUrl })
    };
  }
}
