import { z } from 'zod';
import { unknownAgent } from '../../../core/runs/continue-run.ts';
import {
  inlineChars,
  reportRun,
  secondsSince
} from '../../../core/runs/report.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { waitWithProgress } from '../wait-with-progress.ts';

const agentId = z.string().min(1).max(64).describe('Id from a spawn');

const looking = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false
};

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
      'Agents of this workspace: running, queued, and the ids that ended last.',
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
            : 'Nothing is running. result gives the answer of an ended agent.'
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
      'The answer of one agent, or how far it is. Long answers come as head and tail; offset reads on, full_output names the file with all of it.',
    input: z.strictObject({
      agent_id: agentId,
      offset: z.number().int().min(0).optional().describe('next_offset')
    }),
    annotations: looking,
    _meta: { 'anthropic/maxResultSizeChars': 200_000 },
    handle: async ({ agent_id, offset }) => {
      const run = await host.tracker.run(agent_id);
      if (run) return reportRun(run, host.store, host.tracker, offset);
      return {
        agent_id,
        status: 'not_found',
        message: 'No agent has this id in this workspace. Call list.'
      };
    }
  });
}

function waitTool(host: Host): Tool {
  return defineTool({
    name: 'wait_for_agents',
    title: 'Wait for agents',
    description:
      'Waits until agents end and gives their results: those named, or all that run now. Returns status "timeout" with what is done before your client would give up; then just call again, nothing is lost.',
    input: z.strictObject({
      timeout: z.number().min(0).max(604_800).default(300).describe('Seconds'),
      agent_ids: z.array(agentId).min(1).max(500).optional(),
      mode: z
        .enum(['all', 'any'])
        .default('all')
        .describe('any: return at the first that ends')
    }),
    output: z.looseObject({ status: z.string() }),
    annotations: looking,
    handle: async ({ timeout, agent_ids, mode }, context) => {
      const ids = agent_ids
        ? await known(host, [...new Set(agent_ids)])
        : (await host.tracker.active()).map(({ record }) => record.agent_id);
      if (ids.length === 0) return nothingRunning(host);
      const { finished, waiting, elapsedMs } = await waitWithProgress(
        host,
        { agentIds: ids, mode, seconds: timeout },
        context
      );
      const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
      const results = await reportAll(host, finished);
      if (waiting.length === 0)
        return { status: 'all_completed', elapsed_seconds, results };
      const still_running = waiting.map(({ record }) => record.agent_id);
      return {
        status:
          mode === 'any' && finished.length > 0 ? 'any_completed' : 'timeout',
        elapsed_seconds,
        still_running,
        completed_results: results,
        message:
          'The rest goes on in the background. Call wait_for_agents again to wait on.'
      };
    }
  });
}

function cancelTool(host: Host): Tool {
  return defineTool({
    name: 'cancel_agent',
    title: 'Cancel an agent',
    description:
      'Stops one agent and every process it started. Its output so far is kept.',
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
          : `It is ${run.status}; result gives what it had said.`
      };
    }
  });
}

async function known(host: Host, ids: string[]): Promise<string[]> {
  for (const id of ids) if (!host.store.has(id)) throw unknownAgent(id);
  return ids;
}

async function nothingRunning(host: Host): Promise<Record<string, unknown>> {
  const ids = await host.recent(5);
  const runs = await Promise.all(ids.map((id) => host.tracker.run(id)));
  const recent = runs.filter((run) => run !== undefined);
  return {
    status: 'no_agents_running',
    recent_results: await reportAll(host, recent),
    message: 'No agent is running. These ended last.'
  };
}

/** Several answers share what one answer may carry. */
function reportAll(host: Host, runs: Run[]) {
  const budget = Math.floor(inlineChars / Math.max(1, runs.length));
  return Promise.all(
    runs.map((run) =>
      reportRun(run, host.store, host.tracker, undefined, budget)
    )
  );
}
