import { setTimeout as delay } from 'node:timers/promises';
import type { Access } from '../../plugin.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError, messageOf, storageError } from '../errors.ts';
import type { Admission } from '../runs/admission.ts';
import { resolveDirectory } from '../runs/containment.ts';
import { capped } from '../runs/new-record.ts';
import type { Origin } from '../runs/origin.ts';
import { soon } from '../soon.ts';
import type { RoleRepository } from '../squads/role-repository.ts';
import type { Attendant } from './attendant.ts';
import type { Terms, WorkerMeta } from './records.ts';
import { notReady, notStarted } from './refusals.ts';
import type { EndPolicy } from './worker-end.ts';
import type { WorkerEnder } from './worker-ender.ts';
import type { WorkerLaunch } from './worker-launch.ts';
import type { WorkerStart } from './worker-start.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

export interface CreateWorker {
  name: string;
  /** A role's id, else the brief itself. */
  role: string;
  engine?: string | undefined;
  model?: string | undefined;
  access?: Access | undefined;
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** How long it is waited for at most. */
  patienceMs: number;
}

export interface CreatorSettings {
  workspace: string;
  backend: WorkerMeta['backend'];
  engine: string;
  maxAccess: Access;
  readyTimeoutSeconds: number;
}

export interface CreatorParts {
  store: WorkerStore;
  start: WorkerStart;
  launch: WorkerLaunch;
  attendant: Attendant;
  ender: WorkerEnder;
  registry: EngineRegistry;
  roles: RoleRepository;
  settings: CreatorSettings;
  /** What is settled for each of them. */
  terms: Terms;
  admission: Pick<Admission, 'checkDepth' | 'checkRate' | 'count'>;
  origin: Pick<Origin, 'depth'>;
  /** An id that no agent has. */
  newId: () => string;
}

const pollMs = 40;

const leaving = 'its server ended meanwhile';

/** A dead worker of an earlier server may take a moment to be noticed. */
const attendMs = 1000;

/** One that nobody knows yet is not started again. */
const onceOnly: EndPolicy = { restart: 'never', runningTask: 'fail' };

/** A look at its pane starts a process. */
const lookMs = 1000;

/** Bytes. It is one argument of a program, of which Linux takes 128 KiB. */
const longestRole = 100_000;

/** Makes workers. */
export class WorkerCreator {
  readonly #making = new Set<Promise<Worker>>();
  #isClosed = false;
  /** Those that this server has made. */
  readonly own = new Set<string>();
  readonly #with: CreatorParts;
  #runId: string | undefined;

  constructor(parts: CreatorParts) {
    this.#with = parts;
  }

  /** Of this server, as long as no worker lives that has another. */
  get runId(): string | undefined {
    return this.#runId;
  }

  /**
   * Starts a worker; returns when it has asked for work.
   * @throws HostError `not_ready` with what its screen shows, and
   *   `depth_limit`, `spawn_rate`, `unknown_engine`, `not_a_worker`,
   *   `not_installed`, `cwd_outside`, `cwd_missing`, `window_full`,
   *   `no_terminal`, `terminal_failed`, `storage_full`, `storage_unwritable`:
   *   then nothing is left running
   */
  async create(request: CreateWorker): Promise<Worker> {
    const making = this.#make(request);
    this.#making.add(making);
    try {
      return await making;
    } finally {
      this.#making.delete(making);
    }
  }

  async #make(request: CreateWorker): Promise<Worker> {
    const { start, ender, admission } = this.#with;
    admission.checkDepth();
    const worker = await this.#record(request);
    admission.count();
    const { agent_id: id } = worker.meta;
    try {
      if (this.#isClosed) throw notReady(worker.meta, leaving, []);
      await start.start(worker, 1);
    } catch (error) {
      // Nothing ever ran that could be looked at.
      await start.closePane(worker).catch(() => undefined);
      this.#with.store.discard(id);
      const problem = storageError(error, worker.folder.private);
      if (problem instanceof HostError) throw problem;
      throw notStarted(worker.meta, error);
    }
    try {
      await this.#untilReady(worker, request.patienceMs);
      this.own.add(id);
      // Who reads what all are told finds it there.
      await ender.tell(worker);
      return worker;
    } catch (error) {
      const lines = await start.lastLines(worker, 1).catch(() => []);
      await ender.end(worker, messageOf(error), onceOnly);
      if (error instanceof HostError) throw error;
      throw notReady(worker.meta, messageOf(error), lines);
    }
  }

  /** Ends what is being made: who asked for it has left without its id. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#making);
  }

  async #record(request: CreateWorker): Promise<Worker> {
    const { registry, roles, settings, start, launch, store } = this.#with;
    await soon(this.#with.attendant.attend(), attendMs, undefined);
    const found = (await roles.all()).roles.find(
      ({ id }) => id === request.role
    );
    const name = request.engine ?? found?.engine ?? settings.engine;
    const engine = launch.engineFor(engineName(name), settings.backend);
    const cwd = resolveDirectory(settings.workspace, request.cwd);
    const meta = (): WorkerMeta => ({
      v: 1,
      agent_id: this.#with.newId(),
      name: request.name,
      role: request.role,
      engine: engine.name,
      model: registry.modelOf(engine, request.model ?? found?.model) ?? null,
      access: capped(
        request.access ?? found?.access ?? 'full',
        settings.maxAccess
      ),
      cwd,
      run_id: this.#run(),
      backend: settings.backend,
      created_at: new Date().toISOString(),
      pane: null
    });
    const asked = {
      role: found?.body ?? request.role,
      env: request.env ?? {},
      depth: this.#with.origin.depth + 1,
      terms: this.#with.terms
    };
    if (Buffer.byteLength(asked.role) > longestRole)
      throw new HostError(
        'invalid_input',
        `The role is longer than ${longestRole} bytes.`,
        'Put most of it into a file of the project, and name that file in the role.'
      );
    this.#with.admission.checkRate();
    // Of two servers that make their first at once, both join one run.
    return store.alone(() =>
      store.create(meta(), asked, (folder) => start.announce(folder, 1))
    );
  }

  /** @throws HostError `not_ready` */
  async #untilReady(worker: Worker, patienceMs: number): Promise<void> {
    const { start, settings } = this.#with;
    const began = performance.now();
    let looked = began;
    const readyMs = 1000 * settings.readyTimeoutSeconds;
    const limitMs = Math.min(patienceMs, readyMs);
    const why =
      patienceMs < readyMs ? ', which is as long as this client waits' : '';
    const fail = async (problem: string) =>
      notReady(worker.meta, problem, await start.lastLines(worker, 1));
    while (!worker.log.read().state.isReady) {
      const state = start.stateOf(worker, 1);
      const { isOver, state: asked } = worker.log.read();
      if (this.#isClosed) throw await fail(leaving);
      if (isOver || asked.stopAfter !== null)
        throw await fail('it was deleted');
      if (state === 'ended' || state === 'lost') {
        const code = start.exitCodeOf(worker, 1);
        throw await fail(
          code === undefined ? 'its program is gone' : `it ended with ${code}`
        );
      }
      if (performance.now() - began >= limitMs)
        throw await fail(
          `it did not call wait_for_command within ${Math.round(limitMs / 1000)} s${why}`
        );
      if (performance.now() - looked > lookMs) {
        looked = performance.now();
        if (await start.isStillborn(worker, 1))
          throw await fail('its program could not be started');
      }
      await delay(pollMs);
    }
  }

  /** The run that a worker made now belongs to. */
  #run(): string {
    const living = this.#with.attendant.living();
    const newest = living
      .map(({ meta }) => meta)
      .toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1))[0];
    this.#runId = newest?.run_id ?? this.#runId ?? this.#with.store.newRunId();
    return this.#runId;
  }
}

/** Of the CLI and the API of that name, only the CLI can be a worker. */
function engineName(name: string): string {
  return name === 'gemini' ? 'gemini-cli' : name;
}
