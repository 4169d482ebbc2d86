import { z } from 'zod';
import { labelOf, toolNameOf } from '../../../core/engines/engine-registry.ts';
import { locateReady } from '../../../core/engines/readiness.ts';
import type { Facts } from '../../../core/runs/fit.ts';
import { shortName } from '../../../core/runs/parts.ts';
import type { Outcome, RunRecord } from '../../../core/runs/run.ts';
import type { Spawned } from '../../../core/runs/spawn-request.ts';
import { ofAgent } from '../../../core/runs/words.ts';
import type { Host } from '../../../host.ts';
import type { Access, Engine, FailureCode } from '../../../plugin.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { agentId } from './agent-input.ts';
import { secondOpinionTool } from './second-opinion.ts';

const prompt = z
  .string()
  .min(1)
  .describe('The whole task: it sees nothing else');
const timeout = z
  .number()
  .positive()
  .max(604_800)
  .describe('Seconds until stopped');
const requestId = z.string().min(1).max(200).describe('Same id: same agent');

/** Characters of the error of an agent that ended before; result has all. */
const errorChars = 2000;

const commonInput = {
  prompt,
  model: z.string().min(1).max(200).optional(),
  timeout: timeout.optional(),
  system_prompt: z.string().min(1).max(100_000).optional(),
  request_id: requestId.optional()
};

const cliInput = {
  ...commonInput,
  cwd: z.string().min(1).max(4096).optional().describe('Inside the workspace'),
  access: z
    .enum(['read', 'write', 'full'])
    .optional()
    .describe('read: look; write: edit files; full (default): all'),
  isolate: z.enum(['worktree']).optional()
};

/** One for all engines of a kind: each schema costs the start. */
const inputs = {
  cli: z.strictObject(cliInput),
  api: z.strictObject(commonInput)
};

/** One spawn tool per engine, and those that continue and compare. */
export function spawnTools(host: Host): Tool[] {
  return [
    ...host.registry.all().map((engine) => spawnTool(host, engine)),
    continueTool(host),
    secondOpinionTool(host)
  ];
}

function spawnTool(host: Host, engine: Engine): Tool {
  return defineTool({
    name: toolNameOf(engine),
    title: `Spawn ${labelOf(engine)}`,
    description: describe(engine),
    input: inputs[engine.kind],
    annotations: {
      readOnlyHint: false,
      destructiveHint: engine.kind === 'cli',
      idempotentHint: false,
      openWorldHint: true
    },
    handle: async (input) => {
      const { prompt, model, timeout, system_prompt, request_id } = input;
      const { cwd, access, isolate } = cliOnly(input);
      return answer(
        host,
        engine,
        await host.spawn({
          engine: engine.name,
          prompt,
          model,
          timeoutSeconds: timeout,
          systemPrompt: system_prompt,
          requestId: request_id,
          cwd,
          access,
          isolate
        }),
        access
      );
    }
  });
}

function continueTool(host: Host): Tool {
  return defineTool({
    name: 'continue_agent',
    title: 'Continue an agent',
    description:
      'Gives an agent that has ended a further prompt. A new agent goes on with its memory, directory, access and model.',
    input: z.strictObject({
      agent_id: agentId,
      prompt: z.string().min(1),
      timeout: timeout.optional(),
      request_id: requestId.optional()
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true
    },
    handle: async ({ agent_id, prompt, timeout, request_id }) => {
      const spawned = await host.continue({
        agentId: agent_id,
        prompt,
        timeoutSeconds: timeout,
        requestId: request_id
      });
      const { record } = spawned;
      const engine = host.registry.get(record.engine);
      return answer(host, engine, spawned, record.access);
    }
  });
}

function describe(engine: Engine): string {
  const label = labelOf(engine);
  const begins =
    engine.kind === 'cli'
      ? `Starts ${label} in the background.`
      : `Asks ${label} in the background.`;
  const limits =
    engine.kind === 'cli' ? '' : ' Text only: cannot read or change files.';
  const aliases = Object.keys(engine.models?.aliases ?? {});
  const models =
    aliases.length === 0 ? '' : ` Models: ${aliases.join(', ')} or a full id.`;
  // What to do with the answer stays, however long the engine's own words.
  const ends = `${limits} wait_for_agents gives the answer.${models}`;
  const room = 600 - begins.length - ends.length - 1;
  return `${begins} ${engine.description.slice(0, room)}${ends}`;
}

/** What was started, what will happen, and the next call to make. */
function answer(
  host: Host,
  engine: Engine,
  { record, status, repeated, failure, outcome, warning }: Spawned,
  asked?: Access
): Record<string, unknown> {
  const facts = {
    agent_id: record.agent_id,
    agent_type: record.engine,
    model: record.model ?? 'default',
    status
  };
  if (failure) {
    const told = { error_code: failure.code, error: failure.message };
    const { ready_engines, message } = helpFor(failure.code, host);
    return {
      ...facts,
      ...told,
      ...ready_engines,
      message: `${failure.message}${message}`
    };
  }
  if (repeated) return { ...facts, ...again(host, record, outcome) };
  const limit =
    record.timeout_seconds > 0 ? `${record.timeout_seconds} s` : 'no limit';
  const access = engine.kind === 'cli' ? accessOf(record, asked) : '';
  const begins = status === 'queued' ? 'is queued and will run' : 'runs';
  return {
    ...facts,
    message: `${record.label} ${begins}${access}, timeout ${limit}. ${isolationOf(record)}${warning ? `${warning} ` : ''}${next(record.agent_id)}`
  };
}

/** The engines that could start instead, which help no busy session. */
function helpFor(code: FailureCode, host: Host) {
  if (code === 'session_busy') return { ready_engines: {}, message: '' };
  const ready = locateReady(host.registry, host.processes, host.keys);
  return {
    ready_engines: { ready_engines: ready },
    message: ` Ready now: ${ready.join(', ') || 'none'}.`
  };
}

/** What an agent has come to that the same request made before. */
function again(
  host: Host,
  { agent_id: id }: RunRecord,
  outcome: Outcome | undefined
): Facts {
  const before = `This request_id started agent ${id} before; no second one was started.`;
  if (!outcome) return { message: `${before} ${next(id)}` };
  const { status, error, error_code: code, started_at } = outcome;
  const told = {
    ...(code === null ? {} : { error_code: code }),
    ...(error === null
      ? {}
      : { ...ofAgent, error: shortName(error, errorChars) })
  };
  if (status !== 'failed' || started_at !== null || code === null)
    return {
      ...told,
      message: `${before} It has ended: result {"agent_id":"${id}"} gives its answer.`
    };
  const { ready_engines, message } = helpFor(code, host);
  return {
    ...told,
    ...ready_engines,
    message: `This request_id made agent ${id} before, which could not start; no second one was made. result {"agent_id":"${id}"} says why. To try again, take another request_id.${message}`
  };
}

function isolationOf({ worktree }: RunRecord): string {
  if (!worktree) return '';
  const { path, branch, base } = worktree;
  return `Its worktree ${path} is on branch ${branch}, made from commit ${base.slice(0, 10)}; uncommitted work of the main tree is not in it. `;
}

/** " with access write (enforced by the engine) in /project" */
function accessOf(record: RunRecord, asked: Access | undefined): string {
  const holder =
    record.access === 'full'
      ? 'no limit to enforce'
      : record.enforcement === 'enforced'
        ? 'enforced by the engine'
        : 'only asked for, not enforced';
  const capped =
    record.access === (asked ?? 'full') ? '' : ', capped by maxAccess';
  return ` with access ${record.access} (${holder}${capped}) in ${record.cwd}`;
}

function next(id: string): string {
  return `Next: wait_for_agents {"agent_ids":["${id}"]} gives its answer; do other work first if you have some.`;
}

/** API engines have neither: their schema does not list them. */
function cliOnly(input: Partial<z.output<z.ZodObject<typeof cliInput>>>) {
  return { cwd: input.cwd, access: input.access, isolate: input.isolate };
}
