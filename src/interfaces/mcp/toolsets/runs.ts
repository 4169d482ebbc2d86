import { z } from 'zod';
import { askFacts, asksField, withAsking } from '../../../answers/asks.ts';
import type { Answer, Facts, Form, Put } from '../../../answers/budget.ts';
import {
  inlineChars,
  type Report,
  readReport,
  secondsSince
} from '../../../answers/format-run.ts';
import { ofAgent } from '../../../answers/read-output.ts';
import { linePart, listPart } from '../../../answers/truncate.ts';
import type { OpenAsk } from '../../../core/asks/answers/asks.ts';
import type {
  PluginFault,
  Replaced
} from '../../../core/engines/engine-registry.ts';
import { whyGone } from '../../../core/runs/damaged-run.ts';
import { unseenEnd } from '../../../core/runs/end/classify-outcome.ts';
import type { Run } from '../../../core/runs/run.ts';
import { unknownAgent } from '../../../core/runs/start/continue-run.ts';
import { shortName } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import {
  fitAnswer,
  messageField,
  readableFor
} from '../answers/client-limits.ts';
import { markRead } from '../answers/mark-read.ts';
import { byTool } from '../answers/ways-on.ts';
import { defineTool, ending, reading, type Tool } from '../tool/define-tool.ts';
import { answerTool } from './answer.ts';
import { agentId } from './shapes.ts';
import { waitTool } from './wait.ts';

/** Tools that follow the agents of this workspace, started by any server. */
export function runTools(host: Host): Tool[] {
  return [
    listTool(host),
    resultTool(host),
    waitTool(host),
    answerTool(host),
    cancelTool(host)
  ];
}

function resultTool(host: Host): Tool {
  return defineTool({
    name: 'result',
    title: 'Result of an agent',
    description:
      'The answer of one agent, or how far it is, at once. A long one is truncated: offset reads on; full_output has all of it.',
    input: z.strictObject({
      agent_id: agentId,
      offset: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('next_offset; 0: from the start')
    }),
    annotations: reading,
    _meta: { 'anthropic/maxResultSizeChars': 200_000 },
    textFor: readableFor,
    handle: async ({ agent_id, offset }, context) => {
      const { store, tracker } = host;
      const run = await tracker.run(agent_id);
      if (!run) {
        await host.endVanished();
        return {
          agent_id,
          status: 'not_found',
          message:
            whyGone(agent_id, store) ??
            'No agent has this id in this workspace. Call list.'
        };
      }
      const report = await readReport(withAsking(run, host), store, tracker, {
        offset,
        reach: inlineChars
      });
      const forms = run.outcome
        ? resultForms(report)
        : withNext(agent_id, report);
      const answer = fitAnswer(
        context.clientName,
        forms,
        readableFor(context.clientName)
      );
      return markRead(answer, host, context);
    }
  });
}

/** The facts of an active agent, with the next call. */
function withNext(id: string, { full }: Report): Answer {
  return (put) => {
    const { message, ...facts } = full(put);
    const next = `Next: ${byTool.wait(id)}.`;
    return { ...facts, ...messageField(String(message), next) };
  };
}

/** The second form has no paths: long ones may leave no room for the result. */
function resultForms({ full, words }: Report): Form[] {
  const short =
    'Shortened: its paths are too long for this client. Call result with offset next_offset to read on.';
  return [
    { answer: full, minBytes: 600 },
    { answer: (put) => ({ ...messageField(short), ...words(put) }) }
  ];
}

function cancelTool(host: Host): Tool {
  return defineTool({
    name: 'cancel_agent',
    title: 'Cancel an agent',
    description: 'Stops an agent and all it started; its output is kept.',
    input: z.strictObject({
      agent_id: agentId,
      reason: z.string().max(500).optional()
    }),
    annotations: ending,
    handle: async ({ agent_id, reason }) => {
      const before = await host.tracker.run(agent_id);
      const run = before?.outcome
        ? before
        : await host.cancel(agent_id, reason);
      if (!run) {
        await host.endVanished();
        throw unknownAgent(agent_id, host.store);
      }
      const isUnseen = run.outcome?.error?.endsWith(unseenEnd);
      return {
        agent_id,
        status: run.status,
        message: before?.outcome
          ? `It had ended before (${run.status}); nothing was changed.`
          : `It is ${run.status}; result {"agent_id":"${agent_id}"} gives what it had said.${isUnseen ? ` ${unseenEnd}` : ''}`
      };
    }
  });
}

function listTool(host: Host): Tool {
  return defineTool({
    name: 'list',
    title: 'List agents',
    description: 'Agents of this workspace: running, queued, ended last.',
    input: z.strictObject({
      limit: z
        .number()
        .int()
        .min(1)
        .max(100)
        .default(3)
        .describe('How many ended ids')
    }),
    annotations: reading,
    handle: async ({ limit }, { clientName }) => {
      await host.endVanished();
      const { active, over } = await host.tracker.standing();
      const running = active.filter(({ status }) => status === 'running');
      const words = new Map(
        running.map((run) => [run, host.tracker.lastWords(run.record)])
      );
      const all = {
        running,
        queued: active.filter(({ status }) => status === 'queued'),
        completed_ids: host.recent(limit, over),
        asking: host.asks.open(running.map(({ record }) => record)),
        faults: host.faults,
        replaced: host.registry.replaced
      };
      return fitAnswer(clientName, [
        { answer: (put) => listAll(all, put, words), minBytes: 30 },
        { answer: (put) => listAll(all, put), minBytes: 30 },
        { answer: (put) => listSome(all, put) }
      ]);
    }
  });
}

interface Listed {
  running: Run[];
  queued: Run[];
  completed_ids: string[];
  asking: OpenAsk[];
  faults: readonly PluginFault[];
  replaced: Replaced[];
}

function listAll(
  { running, queued, completed_ids, asking, faults, replaced }: Listed,
  put: Put,
  wordsOf = new Map<Run, string | undefined>()
): Facts {
  const row = (run: Run) => {
    const task = put(linePart('task', taskOf(run)));
    const words = wordsOf.get(run);
    const progress =
      words === undefined
        ? {}
        : { ...ofAgent, ...put(linePart('progress', words)) };
    return rowOf(run, { ...task, ...progress }, asking);
  };
  const fault = ({ plugin, problem }: PluginFault) => ({
    plugin,
    ...put(linePart('problem', problem))
  });
  return {
    running: running.map(row),
    queued: queued.map(row),
    completed_ids,
    ...asksField(asking, put, 'asking'),
    ...(faults.length > 0 ? { faults: faults.map(fault) } : {}),
    ...(replaced.length > 0 ? { replaced } : {}),
    tip:
      running.length + queued.length > 0
        ? 'wait_for_agents waits for yours and gives their results.'
        : 'Nothing is running. result gives the answer of one that has ended.'
  };
}

/** As many agents as fit. */
function listSome(
  { running, queued, completed_ids, asking, faults, replaced }: Listed,
  put: Put
): Facts {
  const row = (run: Run) =>
    rowOf(run, { task: shortName(taskOf(run), 20) }, asking);
  return {
    ...put(listPart('running', running.map(row))),
    ...put(listPart('queued', queued.map(row))),
    ...put(listPart('completed_ids', completed_ids)),
    ...(asking.length > 0
      ? put(
          listPart(
            'asking',
            asking.map((one) => askFacts(one, put))
          )
        )
      : {}),
    ...(faults.length > 0 ? put(listPart('faults', [...faults])) : {}),
    ...(replaced.length > 0 ? put(listPart('replaced', replaced)) : {}),
    tip: 'Not everything fits here. See troupe list and troupe doctor for the rest.'
  };
}

function rowOf(
  { record, status }: Run,
  texts: Facts,
  asking: OpenAsk[]
): Facts {
  const isAsking = asking.some((one) => one.record === record);
  const { squad } = record;
  return {
    id: record.agent_id,
    type: record.engine,
    sec: secondsSince(record),
    // Another agent wrote the task.
    ...(record.parent === null ? {} : ofAgent),
    ...texts,
    status: isAsking ? 'asking' : status,
    ...(squad ? { squadId: squad.squadId } : {})
  };
}

function taskOf({ record }: Run): string {
  return record.task.slice(0, 80);
}
