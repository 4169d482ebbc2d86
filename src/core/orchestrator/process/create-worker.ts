import { setTimeout as delay } from 'node:timers/promises';
import type { Access } from '../../../plugin/plugin.ts';
import { EngineFault } from '../../engines/failures.ts';
import { HostError, messageOf } from '../../errors.ts';
import type { CallerContext } from '../../runs/admission/caller-context.ts';
import { resolveDirectory } from '../../runs/admission/containment.ts';
import { isOverIn } from '../../runs/run-state.ts';
import {
  capped,
  checkForNul,
  checkModel
} from '../../runs/start/new-record.ts';
import type { RoleRepository } from '../../squads/role-repository.ts';
import { awakeMs } from '../../timing.ts';
import type { Terms, WorkerMeta } from '../queue/records.ts';
import type { Worker, WorkerRequest } from '../queue/worker-store.ts';
import {
  type LaunchParts,
  type LaunchSettings,
  workerEngine
} from './launch-plan.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface CreateWorker {
  name: string;
  /** A role's id, or the full text of a role. */
  role: string;
  engine?: string | undefined;
  model?: string | undefined;
  access?: Access | undefined;
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** The longest wait for the worker's first call. */
  patienceMs: number;
}

interface WorkerSettings extends LaunchSettings {
  backend: WorkerMeta['backend'];
  /** The default engine. */
  engine: string;
}

export interface CreateParts extends LaunchParts {
  roles: RoleRepository;
  settings: WorkerSettings;
  terms: Terms;
  origin: Pick<CallerContext, 'depth'>;
  /** Awaited before a recorded worker starts in a directory. */
  enter: (directory: string) => Promise<void> | undefined;
}

interface NewWorker {
  metaFor: (agentId: string, runId: string) => WorkerMeta;
  request: WorkerRequest;
}

/** In bytes. A role is part of one argument; Linux allows 128 KiB for one. */
const longestRole = 100_000;

/**
 * Resolves role, engine, model, access and directory of a new worker.
 * @throws HostError `unknown_engine`, `not_a_worker`, `not_installed`,
 *   `cwd_outside`, `cwd_missing`, `invalid_input`
 */
export async function newWorker(
  parts: CreateParts,
  input: CreateWorker
): Promise<NewWorker> {
  const { registry, roles, settings, terms, origin } = parts;
  const found = (await roles.all()).roles.find(({ id }) => id === input.role);
  const name = input.engine ?? found?.engine ?? settings.engine;
  const engine = workerEngine(parts, name, settings.backend);
  const cwd = resolveDirectory(settings.workspace, input.cwd);
  const role = found?.body ?? input.role;
  if (Buffer.byteLength(role) > longestRole)
    throw new HostError(
      'invalid_input',
      `The role is longer than ${longestRole} bytes.`,
      'Put most of it into a file of the project, and name that file in the role.'
    );
  const model = input.model ?? found?.model;
  checkForNul({ model });
  checkModel(model);
  const metaFor: NewWorker['metaFor'] = (agentId, runId) => ({
    v: 1,
    agent_id: agentId,
    name: input.name,
    role: input.role,
    engine: engine.name,
    model: registry.modelOf(engine, model) ?? null,
    access: capped(input.access ?? found?.access ?? 'full', settings.maxAccess),
    cwd,
    run_id: runId,
    backend: settings.backend,
    created_at: new Date().toISOString(),
    pane: null
  });
  const depth = origin.depth + 1;
  return { metaFor, request: { role, env: input.env ?? {}, depth, terms } };
}

const pollMs = 40;

/** The interval of pane checks, each of which starts a process. */
const paneMs = 1000;

/**
 * Waits until a new worker has asked for work.
 * @param isClosed whether this server has begun to end
 * @throws HostError `not_ready`
 */
export async function untilReady(
  worker: Worker,
  program: WorkerProcess,
  readyMs: number,
  patienceMs: number,
  isClosed: () => boolean
): Promise<void> {
  const began = awakeMs();
  let paneCheckedAt = began;
  const limitMs = Math.min(patienceMs, readyMs);
  const cause =
    patienceMs < readyMs ? ', which is as long as this client waits' : '';
  const fail = async (problem: string) =>
    notReady(worker.meta, problem, await program.lastLines(worker, 1));
  while (!worker.log.read().state.isReady) {
    const state = program.stateOf(worker, 1);
    const { isOver, state: queueState } = worker.log.read();
    if (isClosed()) throw await fail(serverEnded);
    if (isOver || queueState.stopAfter !== null)
      throw await fail('it was deleted');
    if (isOverIn(state)) {
      const code = program.exitCodeOf(worker, 1);
      throw await fail(
        code === undefined ? 'its program is gone' : `it ended with ${code}`
      );
    }
    if (awakeMs() - began >= limitMs)
      throw await fail(
        `it did not call ${program.waitTool} within ${Math.round(limitMs / 1000)} s${cause}`
      );
    if (awakeMs() - paneCheckedAt > paneMs) {
      paneCheckedAt = awakeMs();
      if (await program.hasFailedToStart(worker, 1))
        throw await fail('its program could not be started');
    }
    await delay(pollMs);
  }
}

export const serverEnded = 'its server ended meanwhile';

/** In characters, of an output line in an error. */
const longestLine = 300;

/** The error for a worker that never asked for work, with its last lines. */
export function notReady(
  { name, engine, agent_id }: WorkerMeta,
  problem: string,
  lines: string[]
): HostError {
  const shown = lines.length > 0 ? '' : ' It printed nothing.';
  return new HostError(
    'not_ready',
    `The worker "${name}" (${engine}, ${agent_id}) is not ready: ${problem}.${shown}`,
    `Nothing is left running; screen shows its last lines. Start ${engine} once by hand in that directory to see what it wants, then create the worker again.`,
    { source: 'agent', screen: lines.map((line) => line.slice(0, longestLine)) }
  );
}

/** The error for a worker whose program could not be started. */
export function notStarted(
  { name, engine, agent_id }: WorkerMeta,
  error: unknown
): HostError {
  return new HostError(
    'not_ready',
    `The worker "${name}" (${engine}, ${agent_id}) could not be started. ${messageOf(error)}`,
    error instanceof EngineFault
      ? 'Nothing of it is left. Fix that plugin, or create the worker with another engine.'
      : 'Nothing of it is left. Fix that, then create the worker again.'
  );
}
