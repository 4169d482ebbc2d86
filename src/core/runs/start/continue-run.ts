import { basename, dirname } from 'node:path';
import type { Engine, Failure } from '../../../plugin/plugin.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import { HostError } from '../../errors.ts';
import type { Paths } from '../../paths/paths.ts';
import { isInside } from '../../paths/troupe-home.ts';
import { whyGone } from '../damaged-run.ts';
import type { RunTracker } from '../end/run-tracker.ts';
import {
  type Caller,
  isAgentId,
  type Run,
  type RunRecord,
  type Worktree
} from '../run.ts';
import type { RunStore } from '../run-store.ts';
import { releaseTurn, reserveTurn } from '../sessions/session-turns.ts';
import type { Spawned, SpawnRequest } from '../spawn-request.ts';
import type { Spawner } from './spawner.ts';

export interface ContinueRequest {
  agentId: string;
  prompt: string;
  caller?: Caller | undefined;
  timeoutSeconds?: number | undefined;
  requestId?: string | undefined;
}

interface ContinueTools {
  registry: EngineRegistry;
  store: RunStore;
  tracker: RunTracker;
  spawner: Spawner;
  paths: Paths;
  /** The program that squads run instead of their engine's own, if any. */
  squadProgram: string | undefined;
}

/**
 * Starts a new agent on the session of an earlier one, with its directory,
 * access, model and program.
 * @throws HostError `unknown_agent`, `no_session`, or what a spawn throws
 */
export async function continueRun(
  request: ContinueRequest,
  tools: ContinueTools
): Promise<Spawned> {
  const { store, tracker, spawner, registry, paths } = tools;
  const { agentId, prompt, caller, timeoutSeconds, requestId } = request;
  const run = await tracker.run(agentId);
  if (!run) throw unknownAgent(agentId, store);
  if (run.record.template) throw ofTemplate(run);
  const engine = registry.get(run.record.engine);
  const repeated = await spawner.repeated(requestId);
  if (repeated) return repeated;
  const sessionId = run.outcome?.session_id;
  if (!hasSessions(engine) || (run.outcome && typeof sessionId !== 'string'))
    throw noSession(agentId, run.record.label);
  // Checked before the reservation, because an error would leave it behind.
  const worktree = run.record.worktree && checkWorktree(run.record, paths);
  const program = programOf(run.record, tools);
  const id = store.newId(requestId ?? null);
  const isReserved =
    typeof sessionId === 'string' &&
    (await reserveTurn(engine.name, sessionId, id, store, tracker));
  // The reserved turn keeps the agent from being cleaned away from here on.
  if (!store.has(agentId)) {
    if (isReserved) releaseTurn(engine.name, sessionId, id, store);
    throw unknownAgent(agentId, store);
  }
  const spawned = spawner.spawn({
    agentId: id,
    engine: engine.name,
    prompt,
    caller,
    timeoutSeconds,
    requestId,
    cwd: run.record.cwd,
    worktree,
    access: run.record.access,
    ask: run.record.ask,
    askTimeoutSeconds: run.record.ask_timeout_seconds,
    ...(run.record.model === null ? {} : { model: run.record.model }),
    ...program,
    ...(engine.kind === 'api' ? briefOf(run.record) : {}),
    ...(isReserved ? { continues: { agentId, sessionId } } : { failure: busy })
  });
  return spawned.catch((error: unknown) => {
    // Otherwise later turns would wait for an agent that never starts.
    if (isReserved && !store.has(id))
      releaseTurn(engine.name, sessionId, id, store);
    throw error;
  });
}

/** Whether agents of an engine can be continued. */
export function hasSessions(engine: Engine): boolean {
  return engine.kind !== 'cli' || engine.resumes === true;
}

/**
 * The program that the configuration names now. The record decides only whether
 * the run had a program other than the engine's own.
 */
function programOf(
  { agent_id: id, engine: name, label, program }: RunRecord,
  { registry, squadProgram }: Pick<ContinueTools, 'registry' | 'squadProgram'>
): Pick<SpawnRequest, 'as'> {
  const engine = registry.get(name);
  if (program === undefined || engine.kind === 'api') return {};
  if (squadProgram !== undefined)
    return { as: registry.withProgram(engine, squadProgram) };
  throw new HostError(
    'no_session',
    `Agent ${id} (${label}) ran a program of the squad settings, and they name none now.`,
    'Set squad.engineCommand again, or start a new agent.'
  );
}

/**
 * Checks that a recorded worktree is one of ours: directly in the folder of
 * worktrees, and of a repository that contains the workspace or lies in it.
 */
function checkWorktree(
  { agent_id: id, label, cwd, worktree }: RunRecord,
  { shared, workspace }: ContinueTools['paths']
): Worktree | undefined {
  if (!worktree) return undefined;
  const { path, origin } = worktree;
  const isOurs =
    dirname(path) === shared.worktrees &&
    isAgentId(basename(path)) &&
    isInside(path, cwd) &&
    (isInside(workspace, origin) || isInside(origin, workspace));
  if (isOurs) return worktree;
  throw new HostError(
    'no_session',
    `Agent ${id} (${label}) worked in ${path}, which is not a worktree of this workspace.`,
    'Start a new agent and put what it needs to know into the prompt.'
  );
}

/** An API keeps no system prompt between turns, so it is sent again. */
function briefOf({ system_prompt }: RunRecord) {
  return system_prompt === null ? {} : { systemPrompt: system_prompt };
}

/** A session has one live turn; a second one is recorded as failed. */
const busy: Failure = {
  code: 'session_busy',
  message:
    'That session already has a running turn. Wait until that has ended, then continue again.'
};

/** The template may be gone or have changed since. */
function ofTemplate({ record, outcome }: Run): HostError {
  const chat = outcome?.session_id ?? record.session_id;
  return new HostError(
    'no_session',
    `Agent ${record.agent_id} (${record.label}) came from a template, and cannot be continued by its id.`,
    chat === null
      ? 'Start the member again in a squad, and put what it needs to know into its task.'
      : `A squad goes on in its chat: give its member the chatId "${chat}", or none for a new chat.`
  );
}

function noSession(agentId: string, label: string): HostError {
  return new HostError(
    'no_session',
    `Agent ${agentId} (${label}) left no session to continue.`,
    'Start a new agent and put what it needs to know into the prompt.'
  );
}

export function unknownAgent(agentId: string, store: RunStore): HostError {
  return new HostError(
    'unknown_agent',
    whyGone(agentId, store) ??
      `There is no agent "${agentId}" in this workspace.`,
    'Give the id that the start of an agent returned; the list of agents has all ids.'
  );
}
