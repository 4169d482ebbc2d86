import { randomUUID } from 'node:crypto';
import type { Access, Engine } from '../../../plugin/plugin.ts';
import { defaultAskSeconds } from '../../asks/ask.ts';
import {
  type EngineRegistry,
  enforcementOf,
  labelOf
} from '../../engines/engine-registry.ts';
import { catchEngineFault } from '../../engines/failures.ts';
import type { Prices } from '../../engines/price.ts';
import { HostError } from '../../errors.ts';
import { cutAtWord } from '../../text.ts';
import type { CallerContext } from '../admission/caller-context.ts';
import type { RunJournal } from '../end/run-journal.ts';
import type { Processes } from '../ports.ts';
import type { RunRecord } from '../run.ts';
import type { RunStore } from '../run-store.ts';
import type { SpawnRequest } from '../spawn-request.ts';
import type { PluginSource } from './launch-run.ts';

interface SpawnSettings extends PluginSource {
  workspace: string;
  prices: Prices;
  maxAccess: Access;
  outputLimitBytes: number;
  onDisconnect: 'keep' | 'stop';
}

export interface RecordDependencies {
  registry: EngineRegistry;
  store: RunStore;
  processes: Processes;
  origin: CallerContext;
  journal: Pick<RunJournal, 'nameOf'>;
  settings: SpawnSettings;
}

const order: Access[] = ['read', 'write', 'full'];

/** The lesser of the requested and the highest allowed access. */
export function capped(requested: Access, ceiling: Access): Access {
  return order.indexOf(requested) <= order.indexOf(ceiling)
    ? requested
    : ceiling;
}

/** The record of a new run: the request with every default filled in. */
export function newRecord(
  engine: Engine,
  request: SpawnRequest,
  cwd: string,
  attempt: number,
  { registry, settings, store, processes, origin, journal }: RecordDependencies
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
    tools: orDefault(() => toolsOf(engine, access), null),
    cwd,
    ...(engine.kind === 'cli' ? { command: registry.commandOf(engine) } : {}),
    ...replacementOf(request),
    ...(request.squad === undefined ? {} : { squad: request.squad }),
    ...(request.inChat ? { in_chat: true } : {}),
    ...(request.after?.length ? { comes_after: true } : {}),
    task: firstLine(request.task ?? request.prompt),
    prompt_chars: request.prompt.length,
    system_prompt: request.systemPrompt ?? null,
    timeout_seconds:
      request.timeoutSeconds ??
      orDefault(() => registry.timeoutOf(engine, request.prompt), 0),
    idle_timeout_seconds: registry.idleTimeoutOf(engine),
    retry_seconds: registry.retryLimitOf(engine),
    output_limit_bytes: settings.outputLimitBytes,
    ...askOf(request),
    on_disconnect: settings.onDisconnect,
    request_id: requestId,
    created_at: new Date().toISOString(),
    owner: processes.self,
    ...callerOf(request, journal),
    parent: origin.parent,
    depth: origin.depth + 1,
    continues: request.continues?.agentId ?? null,
    // APIs have no sessions; troupe names theirs after their first agent.
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

function callerOf(
  { caller }: SpawnRequest,
  journal: RecordDependencies['journal']
): Pick<RunRecord, 'caller'> {
  if (!caller) return {};
  return { caller: { ...caller, client: journal.nameOf(caller.client) } };
}

function askOf({ ask, askTimeoutSeconds }: SpawnRequest) {
  if (ask === undefined || ask === 'none') return {};
  return { ask, ask_timeout_seconds: askTimeoutSeconds ?? defaultAskSeconds };
}

/** The template or the program of an engine that is not the registered one. */
function replacementOf({ as, template }: SpawnRequest) {
  if (template !== undefined) return { template };
  return as ? { program: as.command } : {};
}

function toolsOf(engine: Engine, access: Access): string | null {
  return engine.kind === 'cli' ? (engine.tools?.(access) ?? null) : null;
}

/** Ignores plugin faults, because the preflight reports them. */
function orDefault<T>(ask: () => T, otherwise: T): T {
  return catchEngineFault(ask, () => otherwise);
}

/** @throws HostError `invalid_input` for texts that cannot reach a program */
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
  checkModel(model);
}

/** @throws HostError `invalid_input` for a model that could become a flag */
export function checkModel(model: string | undefined): void {
  if (model?.startsWith('-'))
    throw new HostError(
      'invalid_input',
      'The model begins with "-", which a program would take for a flag.',
      'Give a model name or an alias, or leave it out for the default.'
    );
}

/** @throws HostError `invalid_input` that names the text with a NUL */
export function checkForNul(texts: Record<string, string | undefined>): void {
  for (const [name, text] of Object.entries(texts))
    if (text?.includes('\0'))
      throw new HostError(
        'invalid_input',
        `The ${name} holds a NUL character, which no program takes as text.`,
        'Remove it, or put binary data into a file and name that.'
      );
}

/** The first line that is not blank, at most 400 characters. */
function firstLine(prompt: string): string {
  const lines = prompt.split('\n', 50).map((line) => line.trim());
  return cutAtWord(lines.find((line) => line !== '') ?? '', 400);
}
