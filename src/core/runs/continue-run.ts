import type { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';
import { busy, reserveTurn } from './session-turns.ts';
import type { Spawned, Spawner } from './spawner.ts';

export interface ContinueRequest {
  agentId: string;
  prompt: string;
  timeoutSeconds?: number | undefined;
  requestId?: string | undefined;
}

/**
 * Starts a new agent on the session of an earlier one, with its directory,
 * access and model.
 * @throws HostError `unknown_agent`, `session_busy`, `no_session`, or what
 *   a spawn throws
 */
export async function continueRun(
  request: ContinueRequest,
  tools: {
    registry: EngineRegistry;
    store: RunStore;
    tracker: RunTracker;
    spawner: Spawner;
  }
): Promise<Spawned> {
  const { store, tracker, spawner, registry } = tools;
  const { agentId, prompt, timeoutSeconds, requestId } = request;
  const run = await tracker.run(agentId);
  if (!run) throw unknownAgent(agentId);
  const engine = registry.get(run.record.engine);
  const repeated = spawner.repeated(requestId);
  if (repeated) return repeated;
  if (!run.outcome) throw busy();
  const sessionId = run.outcome.session_id;
  if (sessionId === null || (engine.kind === 'cli' && !engine.resumes))
    throw new HostError(
      'no_session',
      `Agent ${agentId} (${run.record.label}) left no session to continue.`,
      'Start a new agent and put what it needs to know into the prompt.'
    );
  const id = store.newId(requestId ?? null);
  await reserveTurn(engine.name, sessionId, id, store, tracker);
  return spawner.spawn({
    agentId: id,
    engine: engine.name,
    prompt,
    timeoutSeconds,
    requestId,
    cwd: run.record.cwd,
    access: run.record.access,
    ...(run.record.model === null ? {} : { model: run.record.model }),
    continues: { agentId, sessionId }
  });
}

export function unknownAgent(agentId: string): HostError {
  return new HostError(
    'unknown_agent',
    `There is no agent "${agentId}" in this workspace.`,
    'Call list to see the agents there are.'
  );
}
