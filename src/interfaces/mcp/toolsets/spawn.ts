import { z } from 'zod';
import type { Facts } from '../../../answers/budget.ts';
import { ofAgent } from '../../../answers/read-output.ts';
import { readyEngineNames } from '../../../core/engines/api/api-keys.ts';
import { labelOf } from '../../../core/engines/engine-registry.ts';
import type { Outcome, RunRecord } from '../../../core/runs/run.ts';
import type { Spawned } from '../../../core/runs/spawn-request.ts';
import { shortName } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import type { Access, Engine, FailureCode } from '../../../plugin/plugin.ts';
import { wakeSentence } from '../answers/client-wakes.ts';
import { hasRuns, waysOn } from '../answers/ways-on.ts';
import {
  asking,
  defineTool,
  starting,
  type Tool
} from '../tool/define-tool.ts';
import { toolNameOf } from '../tool/spawn-tool-name.ts';
import { secondOpinionTool } from './second-opinion.ts';
import {
  agentId,
  ask,
  askTimeout,
  model,
  systemPrompt,
  timeout
} from './shapes.ts';

const prompt = z.string().min(1).describe('The task: all it sees');
const requestId = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe('Same id: same agent');

/** Characters of an earlier agent's error; result has all of it. */
const errorChars = 2000;

const commonInput = {
  prompt,
  model,
  timeout,
  system_prompt: systemPrompt,
  request_id: requestId
};

const askInput = { ask, ask_timeout: askTimeout };

const cliInput = {
  ...commonInput,
  ...askInput,
  cwd: z.string().min(1).max(4096).optional().describe('Inside the workspace'),
  access: z
    .enum(['read', 'write', 'full'])
    .optional()
    .describe('read; write: edit; full (default): all'),
  isolate: z.enum(['worktree']).optional()
};

/** All engines of a kind share a schema: each schema takes time at startup. */
const inputs = {
  cli: z.strictObject(cliInput),
  api: z.strictObject({ ...commonInput, ...askInput })
};

export function spawnTools(host: Host): Tool[] {
  return [
    ...host.registry.all().map((engine) => spawnTool(host, engine)),
    continueTool(host),
    secondOpinionTool(host)
  ];
}

function spawnTool(host: Host, engine: Engine): Tool {
  const tool = defineTool({
    name: toolNameOf(engine),
    title: `Spawn ${labelOf(engine)}`,
    description: describe(engine, host),
    input: inputs[engine.kind],
    annotations: engine.kind === 'cli' ? starting : asking,
    handle: async (input, { caller, clientName }) => {
      const { prompt, model, timeout, system_prompt, request_id } = input;
      const { cwd, access, isolate } = cliOnly(input);
      return answer(
        host,
        engine,
        await host.spawn({
          engine: engine.name,
          prompt,
          caller,
          model,
          timeoutSeconds: timeout,
          systemPrompt: system_prompt,
          requestId: request_id,
          cwd,
          access,
          isolate,
          ask: input.ask,
          askTimeoutSeconds: input.ask_timeout
        }),
        clientName,
        access
      );
    }
  });
  return engine.kind === 'cli' && engine.asks
    ? tool
    : { ...tool, inputSchema: withoutAsk(tool.inputSchema) };
}

/** Engines that cannot ask refuse it, with the reason; it is not offered. */
function withoutAsk(schema: Tool['inputSchema']): Tool['inputSchema'] {
  const { ask, ask_timeout, ...properties } = Object(schema.properties);
  return { ...schema, properties };
}

function continueTool(host: Host): Tool {
  return defineTool({
    name: 'continue_agent',
    title: 'Continue an agent',
    description:
      'Gives an ended agent another prompt: a new agent with its memory, directory, access and model.',
    input: z.strictObject({
      agent_id: agentId,
      prompt: z.string().min(1),
      timeout,
      request_id: requestId
    }),
    annotations: starting,
    handle: async (
      { agent_id, prompt, timeout, request_id },
      { caller, clientName }
    ) => {
      const spawned = await host.continue({
        agentId: agent_id,
        prompt,
        caller,
        timeoutSeconds: timeout,
        requestId: request_id
      });
      const { record } = spawned;
      const engine = host.registry.get(record.engine);
      return answer(host, engine, spawned, clientName, record.access);
    }
  });
}

function describe(engine: Engine, { config }: Host): string {
  const label = labelOf(engine);
  const begins =
    engine.kind === 'cli'
      ? `Starts ${label} in the background`
      : `Asks ${label} in the background`;
  const limits =
    engine.kind === 'cli' ? '' : ' Text only: cannot read or change files.';
  const aliases = Object.keys(engine.models?.aliases ?? {});
  const models =
    aliases.length === 0 ? '' : ` Models: ${aliases.join(', ')} or a full id.`;
  // Only the engine's own description is cut.
  const by = hasRuns(config) ? 'wait_for_agents' : '"troupe result"';
  const first = `${begins}; ${by} gives the answer.`;
  const ends = `${limits}${models}`;
  const room = 600 - first.length - ends.length - 1;
  return `${first} ${engine.description.slice(0, room)}${ends}`;
}

/** The facts of the started agent, and the next call. */
function answer(
  host: Host,
  engine: Engine,
  { record, status, repeated, failure, outcome, warning }: Spawned,
  clientName: string,
  asked?: Access
): Record<string, unknown> {
  const facts = {
    agent_id: record.agent_id,
    agent_type: record.engine,
    model: record.model ?? 'default',
    status
  };
  if (failure) {
    const { ready_engines, message } = helpFor(failure.code, host);
    return {
      ...facts,
      error_code: failure.code,
      error: failure.message,
      ...ready_engines,
      message: [`${failure.message}${message}`, ...host.configNotices].join(' ')
    };
  }
  if (repeated)
    return { ...facts, ...again(host, record, outcome, clientName) };
  if (outcome && outcome.started_at === null)
    return {
      ...facts,
      ...causeOf(outcome),
      message: `It could not start: ${waysOn(host.config).result(record.agent_id)} says why.`
    };
  const limit =
    record.timeout_seconds > 0 ? `${record.timeout_seconds} s` : 'no limit';
  const access = engine.kind === 'cli' ? accessOf(record, asked) : '';
  const begins =
    status === 'queued' ? 'is queued and will run' : outcome ? 'ran' : 'runs';
  return {
    ...facts,
    message: `${record.label} ${begins}${access}, timeout ${limit}. ${asksOf(record)}${isolationOf(record)}${warning ? `${warning} ` : ''}${host.configNotices.map((notice) => `${notice} `).join('')}${next(record.agent_id, host, clientName)}`
  };
}

/** Engines that could start instead; none can for a busy session. */
function helpFor(code: FailureCode, host: Host) {
  if (code === 'session_busy') return { ready_engines: {}, message: '' };
  const ready = readyEngineNames(host.registry, host.processes, host.keys);
  return {
    ready_engines: { ready_engines: ready },
    message: ` Ready now: ${ready.join(', ') || 'none'}.`
  };
}

/** The state of the agent that an earlier call with this id started. */
function again(
  host: Host,
  { agent_id: id }: RunRecord,
  outcome: Outcome | undefined,
  clientName: string
): Facts {
  const before = `This request_id started agent ${id} before; no second one was started.`;
  if (!outcome) return { message: `${before} ${next(id, host, clientName)}` };
  const result = waysOn(host.config).result(id);
  const { status, error_code: code, started_at } = outcome;
  const why = causeOf(outcome);
  if (status !== 'failed' || started_at !== null || code === null)
    return {
      ...why,
      message: `${before} It has ended: ${result} gives its answer.`
    };
  const { ready_engines, message } = helpFor(code, host);
  return {
    ...why,
    ...ready_engines,
    message: `This request_id made agent ${id} before, which could not start; no second one was made: ${result} says why. To try again, use another request_id.${message}`
  };
}

function causeOf({ error, error_code: code }: Outcome): Facts {
  return {
    ...(code === null ? {} : { error_code: code }),
    ...(error === null
      ? {}
      : { ...ofAgent, error: shortName(error, errorChars) })
  };
}

function asksOf({ ask, access, ask_timeout_seconds }: RunRecord): string {
  if (ask === undefined) return '';
  const what = access === 'full' ? 'only questions' : 'what it may not do';
  const whom = ask === 'person' ? 'a person' : 'you (or a person)';
  return `It asks ${whom} ${what}, and waits ${ask_timeout_seconds} s for each answer. `;
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

function next(
  id: string,
  { config, processes }: Host,
  clientName: string
): string {
  const wake = wakeSentence(clientName, id, processes);
  return `Next: ${waysOn(config).wait(id)}; do other work first if you have some.${wake}`;
}

function cliOnly(input: Partial<z.output<z.ZodObject<typeof cliInput>>>) {
  return { cwd: input.cwd, access: input.access, isolate: input.isolate };
}
