import { z } from 'zod';
import { unknownAgent } from '../../../core/runs/continue-run.ts';
import { reportRun, secondsSince } from '../../../core/runs/report.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { fitAnswer } from '../fit-answer.ts';
import { agentId, looking } from './agent-input.ts';
import { waitTool } from './wait.ts';

const activeAgent = z.looseObject({
  id: z.string(),
  type: z.string(),
  sec: z.number(),
  task: z.string(),
  status: z.string()
});

/** Tools that follow agents of this workspace, whichever server has them. */
export function runTools(host: Host): Tool[] {
  return [listTool(host), resultTool(host), waitTool(host), cancelTool(host)];
}

function listTool(host: Host): Tool {
  return defineTool({
    name: 'list',
    title: 'List agents',
    description:
      'Agents started in this workspace: running, queued, and the ids that ended last.',
    input: z.strictObject({
      limit: z
        .number()
        .int()
        .min(1)
        .max(100)
        .default(3)
        .describe('How many ended ids')
    }),
    output: z.looseObject({
      running: z.array(activeAgent),
      queued: z.array(activeAgent),
      completed_ids: z.array(z.string()),
      tip: z.string()
    }),
    annotations: looking,
    handle: async ({ limit }) => {
      const active = await host.tracker.active();
      const { faults } = host.registry;
      const rows = (status: string) =>
        active.filter((run) => run.status === status).map(row);
      return {
        running: rows('running'),
        queued: rows('queued'),
        completed_ids: await host.recent(limit),
        ...(faults.length > 0 ? { faults } : {}),
        tip:
          active.length > 0
            ? 'wait_for_agents waits for them and gives their results.'
            : 'Nothing is running. result gives the answer of one that has ended.'
      };
    }
  });
}

function row({ record, status }: Run) {
  return {
    id: record.agent_id,
    type: record.engine,
    sec: secondsSince(record),
    task: record.task.slice(0, 80),
    status
  };
}

function resultTool(host: Host): Tool {
  return defineTool({
    name: 'result',
    title: 'Result of an agent',
    description:
      'The answer of one agent, or how far it is; does not wait. A long answer comes truncated, as beginning and end: offset reads on, full_output names the file with all of it.',
    input: z.strictObject({
      agent_id: agentId,
      offset: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('next_offset; 0: from the start')
    }),
    annotations: looking,
    _meta: { 'anthropic/maxResultSizeChars': 200_000 },
    handle: async ({ agent_id, offset }, { clientName }) => {
      const run = await host.tracker.run(agent_id);
      if (run)
        return fitAnswer(clientName, (chars) =>
          reportRun(run, host.store, host.tracker, offset, chars)
        );
      return {
        agent_id,
        status: 'not_found',
        message: 'No agent has this id in this workspace. Call list.'
      };
    }
  });
}

function cancelTool(host: Host): Tool {
  return defineTool({
    name: 'cancel_agent',
    title: 'Cancel an agent',
    description:
      'Stops one agent and all that it started. Its output so far is kept.',
    input: z.strictObject({
      agent_id: agentId,
      reason: z.string().max(500).optional()
    }),
    output: z.looseObject({
      agent_id: z.string(),
      status: z.string(),
      message: z.string()
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false
    },
    handle: async ({ agent_id, reason }) => {
      const before = await host.tracker.run(agent_id);
      const run = before?.outcome
        ? before
        : await host.cancel(agent_id, reason);
      if (!run) throw unknownAgent(agent_id);
      return {
        agent_id,
        status: run.status,
        message: before?.outcome
          ? `It had ended before (${run.status}); nothing was changed.`
          : `It is ${run.status}; result {"agent_id":"${agent_id}"} gives what it had said.`
      };
    }
  });
}
