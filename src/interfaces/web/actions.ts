import { join, relative } from 'node:path';
import { z } from 'zod';
import { answeredFacts } from '../../answers/asks.ts';
import { HostError } from '../../core/errors.ts';
import { lazy } from '../../core/lazy.ts';
import type { RunRecord } from '../../core/runs/run.ts';
import type { Spawned } from '../../core/runs/spawn-request.ts';
import { unknownAgent } from '../../core/runs/start/continue-run.ts';
import { grouped } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import { runOf, whyNoAlike } from './data/agent-data.ts';
import { invalidInput } from './reply.ts';

/** The client that the journal names for agents that the page started. */
export const pageClient = 'troupe web';

/** What the journal has as the origin of an action. */
export const fromPage = 'from the page';

const words = (most: number) =>
  z
    .string()
    .refine((text) => text.trim() !== '', 'is empty')
    .refine((text) => text.length <= most, {
      error: ({ input }) =>
        `has ${grouped(Object(input).length)} characters, and at most ${grouped(most)} are allowed`
    });

const oneLine = (most: number) =>
  words(most).refine((text) => !/\p{Cc}/u.test(text), 'is not one line');

const bodies = lazy(() => ({
  cancel: z.strictObject({ reason: z.string().max(2000).optional() }),
  continue: z.strictObject({
    prompt: words(1_000_000),
    request_id: z.string().min(8).max(200)
  }),
  alike: z.strictObject({
    like: z.string().max(64),
    prompt: words(1_000_000),
    request_id: z.string().min(8).max(200)
  }),
  answer: z.strictObject({
    decision: z.enum(['allow', 'deny']).optional(),
    text: z.string().max(100_000).optional()
  }),
  task: z.strictObject({ task_id: oneLine(200), text: words(1_000_000) }),
  cancelTask: z.strictObject({ task_id: words(200) }),
  stop: z.strictObject({ force: z.boolean() }),
  response: z.strictObject({
    session_id: z.string().max(200),
    request_id: z.string().min(8).max(200).optional(),
    content: words(1_000_000)
  }),
  summon: z.strictObject({
    session_id: z.string().max(200).optional(),
    engine: oneLine(64),
    model: oneLine(200).optional()
  }),
  login: z.strictObject({ code: z.string().max(200) }),
  link: z.strictObject({ scope: z.enum(['look', 'act']) })
}));

type Bodies = ReturnType<typeof bodies>;

/** @throws HostError `invalid_input` */
export function bodyFor<Name extends keyof Bodies>(
  name: Name,
  body: unknown
): z.output<Bodies[Name]> {
  const { data, error } = bodies()[name].safeParse(body);
  if (data) return data as z.output<Bodies[Name]>;
  const [issue] = error?.issues ?? [];
  throw invalidInput(
    `The request is invalid: ${issue?.path.join('.') || 'body'} ${issue?.message}.`,
    issue?.code === 'custom'
      ? 'Change it and send it again; a long text fits into a file that you name.'
      : 'Reload the page: it may be of another version.'
  );
}

/** @throws HostError `unknown_agent` */
export async function cancelAgent(host: Host, id: string, body: unknown) {
  const { reason = '' } = bodyFor('cancel', body);
  const words = reason.trim();
  const before = await host.tracker.run(id);
  const run = before?.outcome
    ? before
    : await host.cancel(id, words === '' ? undefined : words, fromPage);
  if (!run) throw unknownAgent(id, host.store);
  return {
    agent_id: id,
    status: run.status,
    had_ended: before?.outcome !== undefined
  };
}

/** @throws HostError what a spawn throws, and `no_session` */
export async function continueAgent(host: Host, id: string, body: unknown) {
  const { prompt, request_id: requestId } = bodyFor('continue', body);
  await host.refreshConfig();
  const caller = { client: pageClient };
  return startedFacts(
    await host.continue({ agentId: id, prompt, requestId, caller })
  );
}

/**
 * Gives another prompt to a new agent with the engine, model, access, directory
 * and isolation of a known one.
 * @throws HostError `unknown_agent`, `invalid_input`, and what a spawn throws
 */
export async function spawnAlike(host: Host, body: unknown) {
  const { like, prompt, request_id: requestId } = bodyFor('alike', body);
  await host.refreshConfig();
  const { record } = await runOf(host, like);
  const refusal = whyNoAlike(record);
  if (refusal !== null)
    throw invalidInput(
      `No agent like ${like} can be started: ${refusal}`,
      'Start it in a squad.'
    );
  const caller = { client: pageClient };
  const likeness = likenessOf(record);
  return startedFacts(
    await host.spawn({ ...likeness, prompt, requestId, caller })
  );
}

function likenessOf(record: RunRecord) {
  const { kind, engine, model, access, worktree, system_prompt } = record;
  // A worktree has the folders of the repository that it was made from.
  const cwd = worktree
    ? join(worktree.origin, relative(worktree.path, record.cwd))
    : record.cwd;
  return {
    engine,
    model: model ?? undefined,
    systemPrompt: system_prompt ?? undefined,
    ask: record.ask,
    askTimeoutSeconds: record.ask_timeout_seconds,
    ...(kind === 'cli' ? { access, cwd } : {}),
    ...(worktree ? { isolate: 'worktree' as const } : {})
  };
}

function startedFacts({ record, status, failure, warning }: Spawned) {
  return {
    agent_id: record.agent_id,
    status,
    error: failure?.message ?? null,
    warning: warning ?? null
  };
}

/** @throws HostError as `Asks.answer` */
export async function answerAsk(host: Host, askId: string, body: unknown) {
  const { decision, text } = bodyFor('answer', body);
  await host.refreshConfig();
  return answeredFacts(host.asks.answer({ askId, decision, text }, 'page'));
}

/** The whole of an ask; a row has only its beginning. */
export async function askData(host: Host, askId: string) {
  const active = await host.tracker.active();
  const found = host.asks
    .open(active.map(({ record }) => record))
    .find(({ ask }) => ask.ask_id === askId);
  if (!found)
    throw new HostError(
      'unknown_ask',
      `The ask ${askId.slice(0, 100)} is not open.`,
      'It was answered, or its agent has ended.'
    );
  return found;
}
