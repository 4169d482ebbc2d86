import { randomUUID } from 'node:crypto';
import type { Access, Engine, Failure } from '../../plugin.ts';
import { unlessAtFault } from '../engines/engine-fault.ts';
import { enforcementOf, labelOf } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import type { Outcome, RunRecord } from './run.ts';
import type { SpawnRequest } from './spawn-request.ts';
import type { SpawnerDependencies } from './spawner.ts';

const order: Access[] = ['read', 'write', 'full'];

/** The lesser of what is asked for and what the configuration allows. */
export function capped(asked: Access, ceiling: Access): Access {
  return order.indexOf(asked) <= order.indexOf(ceiling) ? asked : ceiling;
}

/** A run as it is written down: the request with every default settled. */
export function newRecord(
  engine: Engine,
  request: SpawnRequest,
  cwd: string,
  attempt: number,
  { registry, settings, store, processes, origin }: SpawnerDependencies
): RunRecord {
  const access =
    engine.kind === 'api'
      ? 'read'
      : capped(request.access ?? 'full', settings.maxAccess);
  const requestId = request.requestId ?? null;
  const reserved = attempt === 0 ? request.agentId : undefined;
  const id = reserved ?? store.newId(requestId, attempt);
  return {
    v: 1,
    agent_id: id,
    engine: engine.name,
    label: labelOf(engine),
    kind: engine.kind,
    model: registry.modelOf(engine, request.model) ?? null,
    access,
    enforcement: enforcementOf(engine, access),
    tools: told(() => toolsOf(engine, access), null),
    cwd,
    ...madeFor(request),
    ...(request.squad === undefined ? {} : { squad: request.squad }),
    ...(request.inChat ? { in_chat: true } : {}),
    ...(request.after?.length ? { comes_after: true } : {}),
    task: firstLine(request.task ?? request.prompt),
    prompt_chars: request.prompt.length,
    system_prompt: request.systemPrompt ?? null,
    timeout_seconds:
      request.timeoutSeconds ??
      told(() => registry.timeoutOf(engine, request.prompt), 0),
    idle_timeout_seconds: registry.idleTimeoutOf(engine),
    retry_seconds: registry.retryLimitOf(engine),
    output_limit_bytes: settings.outputLimitBytes,
    on_disconnect: settings.onDisconnect,
    request_id: requestId,
    created_at: new Date().toISOString(),
    owner: processes.self,
    parent: origin.parent,
    depth: origin.depth + 1,
    continues: request.continues?.agentId ?? null,
    // An API keeps no session: ours is named after its first agent.
    session_id:
      request.continues?.sessionId ?? (engine.kind === 'api' ? id : null),
    new_session_id:
      engine.kind === 'cli' &&
      engine.takesSessionId &&
      !request.continues &&
      !request.createChat
        ? randomUUID()
        : null
  };
}

/** What its engine was made from, when that is not the registered one. */
function madeFor({ as, template }: SpawnRequest) {
  if (template !== undefined) return { template };
  return as ? { program: as.command } : {};
}

function toolsOf(engine: Engine, access: Access): string | null {
  return engine.kind === 'cli' ? (engine.tools?.(access) ?? null) : null;
}

/** A plugin at fault is told by the preflight; the record is written anyway. */
function told<T>(ask: () => T, otherwise: T): T {
  return unlessAtFault(ask, () => otherwise);
}

/** The end of a run that could not start. */
export function outcomeOfRefused(record: RunRecord, failure: Failure): Outcome {
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
    duration_ms: 0,
    settled_by: record.owner
  };
}

/** @throws HostError `invalid_input` for what no program could be given */
export function checkTexts({
  prompt,
  systemPrompt,
  model,
  cwd
}: Pick<SpawnRequest, 'prompt' | 'systemPrompt' | 'model' | 'cwd'>): void {
  if (prompt.trim() === '')
    throw new HostError(
      'invalid_input',
      'The prompt is empty.',
      'Say in "prompt" what the agent should do.'
    );
  checkForNul({ prompt, system_prompt: systemPrompt, model, cwd });
  if (model?.startsWith('-'))
    throw new HostError(
      'invalid_input',
      'The model begins with "-", which a program would take for a flag.',
      'Give a model name or an alias, or leave it out for the default.'
    );
}

/** @throws HostError `invalid_input` that says where one is */
export function checkForNul(texts: Record<string, string | undefined>): void {
  for (const [name, text] of Object.entries(texts))
    if (text?.includes('\0'))
      throw new HostError(
        'invalid_input',
        `The ${name} holds a NUL character, which no program takes as text.`,
        'Remove it, or put binary data into a file and name that.'
      );
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
