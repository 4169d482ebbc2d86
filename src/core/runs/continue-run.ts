import { basename, dirname } from 'node:path';
import type { Failure } from '../../plugin.ts';
import type { Worktree } from '../changes/ports.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import type { Paths } from '../paths/paths.ts';
import { pathNow } from '../paths/records.ts';
import { isInside } from '../paths/troupe-home.ts';
import { toldIfCleaned } from './cleaned-agent.ts';
import type { Run, RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';
import { leaveLine, reserveTurn } from './session-turns.ts';
import type { Spawned, SpawnRequest } from './spawn-request.ts';
import type { Spawner } from './spawner.ts';

export interface ContinueRequest {
  agentId: string;
  prompt: string;
  timeoutSeconds?: number | undefined;
  requestId?: string | undefined;
}

export interface ContinueTools {
  registry: EngineRegistry;
  store: RunStore;
  tracker: RunTracker;
  spawner: Spawner;
  paths: Paths;
  /** The program that squads run in place of their engine's own, if any. */
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
  const { agentId, prompt, timeoutSeconds, requestId } = request;
  const run = await tracker.run(agentId);
  if (!run) throw unknownAgent(agentId, store);
  if (run.record.template) throw ofTemplate(run);
  const engine = registry.get(run.record.engine);
  const repeated = await spawner.repeated(requestId);
  if (repeated) return repeated;
  const resumes = engine.kind !== 'cli' || engine.resumes === true;
  const sessionId = run.outcome?.session_id;
  if (!resumes || (run.outcome && typeof sessionId !== 'string'))
    throw noSession(agentId, run.record.label);
  const id = store.newId(requestId ?? null);
  const free =
    typeof sessionId === 'string' &&
    (await reserveTurn(engine.name, sessionId, id, store, tracker));
  // From here on nobody cleans it away; but somebody may have just before.
  if (!store.has(agentId)) {
    if (free) leaveLine(engine.name, sessionId, id, store);
    throw unknownAgent(agentId, store);
  }
  const spawned = spawner.spawn({
    agentId: id,
    engine: engine.name,
    prompt,
    timeoutSeconds,
    requestId,
    cwd: pathNow(run.record.cwd, paths),
    worktree: run.record.worktree && checkWorktree(run.record, paths),
    access: run.record.access,
    ...(run.record.model === null ? {} : { model: run.record.model }),
    ...programOf(run.record, tools),
    ...(engine.kind === 'api' ? briefOf(run.record) : {}),
    ...(free ? { continues: { agentId, sessionId } } : { failure: busy })
  });
  return spawned.catch((error: unknown) => {
    // Its turn would be waited for though nobody has it.
    if (free && !store.has(id)) leaveLine(engine.name, sessionId, id, store);
    throw error;
  });
}

/**
 * The program that the configuration names today; the record only says that
 * it was another one than the engine's own.
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
 * A worktree of ours has one place, and belongs to a repository around the
 * workspace or in it.
 */
function checkWorktree(
  { agent_id: id, label, cwd, worktree }: RunRecord,
  { shared, workspace }: ContinueTools['paths']
): Worktree | undefined {
  if (!worktree) return undefined;
  const { path, origin } = worktree;
  const isOurs =
    dirname(path) === shared.worktrees &&
    /^[0-9a-f]{8}$/.test(basename(path)) &&
    isInside(path, cwd) &&
    (isInside(workspace, origin) || isInside(origin, workspace));
  if (isOurs) return worktree;
  throw new HostError(
    'no_session',
    `Agent ${id} (${label}) worked in ${path}, which is no worktree of this workspace.`,
    'Start a new agent and put what it needs to know into the prompt.'
  );
}

/** An API has forgotten it. */
function briefOf({ system_prompt }: RunRecord) {
  return system_prompt === null ? {} : { systemPrompt: system_prompt };
}

/** One live turn a session; a second one is recorded as failed. */
const busy: Failure = {
  code: 'session_busy',
  message:
    'That session has a turn at work already. Wait for it with wait_for_agents, then continue again.'
};

/** The file may be gone, or say something else by now. */
function ofTemplate({ record, outcome }: Run): HostError {
  const chat = outcome?.session_id ?? record.session_id;
  return new HostError(
    'no_session',
    `Agent ${record.agent_id} (${record.label}) came from a template, and continue_agent does not go on with those.`,
    chat === null
      ? 'Call start_squad_members again and put what the new member needs to know into its task.'
      : `Call start_squad_members with chatId "${chat}" to go on in its chat, or without a chatId for a new one.`
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
    toldIfCleaned(agentId, store) ??
      `There is no agent "${agentId}" in this workspace.`,
    'Call list to see the agents there are.'
  );
}
