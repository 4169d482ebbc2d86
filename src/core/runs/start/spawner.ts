import { basename } from 'node:path';
import type { Engine, Failure } from '../../../plugin/plugin.ts';
import { warnOfOtherWriters } from '../../changes/concurrent-writers.ts';
import { isolated } from '../../changes/own-worktree.ts';
import type { Repositories } from '../../changes/ports.ts';
import type { ApiKeys } from '../../engines/api/api-keys.ts';
import { labelOf } from '../../engines/engine-registry.ts';
import { storageError } from '../../errors.ts';
import type { Together } from '../../state/files/shared-sync.ts';
import type { Admission } from '../admission/admission.ts';
import { resolveDirectory } from '../admission/containment.ts';
import { outcomeOfRefused } from '../end/outcome.ts';
import type { RunJournal } from '../end/run-journal.ts';
import type { RunTracker } from '../end/run-tracker.ts';
import type { Outcome, RunRecord } from '../run.ts';
import type { Draft } from '../run-draft.ts';
import type { RunEvents } from '../run-events.ts';
import { wasClaimed } from '../run-files.ts';
import type { Spawned, SpawnRequest } from '../spawn-request.ts';
import { checkAsks } from './connect-asks.ts';
import { engineRequestOf } from './engine-request.ts';
import { preflight } from './launch-run.ts';
import {
  checkTexts,
  newRecord,
  type RecordDependencies
} from './new-record.ts';
import type { RunStarter } from './starter.ts';

interface SpawnerDependencies extends RecordDependencies {
  keys: ApiKeys;
  journal: RunJournal;
  events: RunEvents;
  tracker: RunTracker;
  starter: RunStarter;
  admission: Admission;
  repositories: Repositories;
}

interface Plan {
  record: RunRecord;
  engine: Engine;
  stdin: string;
  /** Why it cannot start. */
  failure: Failure | undefined;
  isAgents: boolean;
  needsSlotNow: boolean;
  /** Whether other spawns were waiting when it began. */
  isOneOfMany: boolean;
}

/** Records a requested run on disk and in the journal, and queues it. */
export class Spawner {
  readonly #with: SpawnerDependencies;

  constructor(dependencies: SpawnerDependencies) {
    this.#with = dependencies;
  }

  /**
   * Resolves once the run is recorded on disk and queued or started.
   * @throws HostError when nothing was started: `cwd_outside`, `cwd_missing`,
   *   `no_repository`, `depth_limit`, `disk_limit`, `spawn_rate`,
   *   `at_capacity`, `unknown_engine`, `ask_unsupported`, `storage_full`,
   *   `storage_unwritable`.
   */
  async spawn(request: SpawnRequest): Promise<Spawned> {
    const { registry, settings, admission, starter } = this.#with;
    checkTexts(request);
    // A spawn blocks the event loop for a millisecond or more.
    const turn = starter.throttle.turn();
    const isOneOfMany = turn !== undefined || starter.throttle.isBusy;
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
      if (plain.ask) checkAsks(engine, plain.access, registry.all());
      // Without a needless await, a `list` call that follows shows this agent.
      const record =
        request.isolate || worktree
          ? await isolated(plain, request, this.#with)
          : plain;
      const { stdin, ...prepared } = this.#prepare(engine, record, request);
      const failure = withoutSecrets(prepared.failure, this.#with.journal);
      const isAgents = !failure && admission.isAgents(record);
      const needsSlotNow = isAgents && !request.after?.length;
      if (!request.isCounted) admission.checkDisk();
      if (needsSlotNow) await admission.checkRoom([engine.name]);
      if (!request.isCounted) admission.checkRate();
      const plan = {
        ...{ record, engine, stdin, failure },
        ...{ isAgents, needsSlotNow, isOneOfMany }
      };
      const spawned = await this.#carryOut(plan, request);
      if (spawned) return spawned;
      // Another server may just have handled the same request.
      const winner = await this.repeated(request.requestId, attempt);
      if (winner) return winner;
    }
  }

  /** Undefined when another run has the id. */
  async #carryOut(
    plan: Plan,
    request: SpawnRequest
  ): Promise<Spawned | undefined> {
    const { registry, store, admission, events, starter, tracker } = this.#with;
    const { record, engine, stdin, failure } = plan;
    const { isAgents, needsSlotNow, isOneOfMany } = plan;
    const { agent_id: id } = record;
    const { prompt, after = [], createChat } = request;
    const { coming } = starter.slots;
    const refused = failure && outcomeOfRefused(record, failure);
    // An agent's spawn that gets no slot does not count.
    const isShared = isOneOfMany && !needsSlotNow;
    const run = { record, prompt, stdin, outcome: refused };
    coming.add(id);
    try {
      const isMade = isShared
        ? await this.#persistShared(run, request)
        : this.#persist(run);
      if (!isMade) return undefined;
      // A cancel that came while the disk was synced has been carried out.
      if (isShared && !refused && wasClaimed(store.directoryOf(id))) {
        const run = await tracker.run(id);
        if (run) return { ...run, repeated: false };
      }
      if (needsSlotNow) await this.#acquireSlot(record);
      if (!request.isCounted && !isShared) admission.count();
      await this.#journal(record, prompt, refused);
      events.runSpawned(record);
      if (refused) {
        store.close(id);
        events.runEnded({ record, outcome: refused });
        return { record, status: 'failed', repeated: false, failure };
      }
      const engineRequest = engineRequestOf(record, prompt, registry);
      const status = starter.add({
        ...{ record, engine, request: engineRequest },
        ...{ after, createChat, isAgents }
      });
      const isInTurn = after.length > 0;
      // The run is queued or started: a failed check must not fail the spawn.
      const warning = request.isWarned
        ? undefined
        : await warnOfOtherWriters(record, this.#with, isInTurn).catch(
            () => undefined
          );
      const warned = warning === undefined ? {} : { warning };
      return { record, status, repeated: false, ...warned };
    } finally {
      coming.delete(id);
    }
  }

  /** The agent that an earlier request with this id started, if any. */
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
        : `${command} is not a program that can be run`;
    return {
      code: 'not_installed',
      message: `${labelOf(engine)} is not installed: ${missing}.${how}`
    };
  }

  /** The stdin of the run's process, or the failure that prevents its start. */
  #prepare(
    engine: Engine,
    record: RunRecord,
    request: SpawnRequest
  ): { stdin: string; failure?: Failure } {
    const failure = request.failure ?? this.#cannotStart(engine);
    if (failure) return { stdin: '', failure };
    const { registry } = this.#with;
    const engineRequest = engineRequestOf(record, request.prompt, registry);
    return preflight(engine, engineRequest, record, this.#with);
  }

  /** Returns false when another run has the id. */
  #persist({ record, prompt, stdin, outcome }: Draft): boolean {
    const { store } = this.#with;
    try {
      return store.create(record, prompt, stdin, outcome);
    } catch (error) {
      throw storageError(error, store.root);
    }
  }

  /**
   * Like `#persist`, for one of many at once.
   * @throws HostError `spawn_rate` if others were counted meanwhile
   */
  async #persistShared(
    run: Draft,
    { isCounted }: SpawnRequest
  ): Promise<boolean> {
    const { store, starter, admission } = this.#with;
    const together: Together = (work) => starter.throttle.together(work);
    const admit = () => {
      admission.checkRate();
      admission.count();
    };
    try {
      const draft = isCounted ? run : { ...run, admit };
      return await store.createShared(draft, together);
    } catch (error) {
      throw storageError(error, store.root);
    }
  }

  /** @throws HostError `at_capacity` after discarding the run */
  async #acquireSlot(record: RunRecord): Promise<void> {
    const { store, admission } = this.#with;
    try {
      await admission.acquireSlot(record);
    } catch (error) {
      store.discard(record.agent_id);
      throw storageError(error, store.root);
    }
  }

  async #journal(
    record: RunRecord,
    prompt: string,
    refused: Outcome | undefined
  ): Promise<void> {
    const { store, journal, admission } = this.#with;
    const { agent_id: id } = record;
    try {
      journal.recordSpawn(record, prompt);
      if (!refused) return;
      store.sizes.note(id);
      await journal.recordEnd(record, refused);
    } catch (error) {
      admission.releaseSlot(record);
      store.discard(id);
      throw storageError(error, journal.path);
    }
  }
}

/** It may quote what a plugin threw, and is shown in many places. */
function withoutSecrets(
  failure: Failure | undefined,
  journal: RunJournal
): Failure | undefined {
  return failure && { ...failure, message: journal.redact(failure.message) };
}
