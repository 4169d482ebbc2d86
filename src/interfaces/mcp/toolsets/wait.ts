import { z } from 'zod';
import { unknownAgent } from '../../../core/runs/continue-run.ts';
import { reportRun } from '../../../core/runs/report.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { fitAnswer } from '../fit-answer.ts';
import { waitWithProgress } from '../wait-with-progress.ts';
import { agentId, looking } from './agent-input.ts';

/** Waits for agents of this workspace and gives their answers. */
export function waitTool(host: Host): Tool {
  return defineTool({
    name: 'wait_for_agents',
    title: 'Wait for agents',
    description:
      'Waits until agents end and gives their answers: of those named, or of all that run now. What is not truncated is whole: no need to call result. Status "timeout" comes before your client would give up; call again then, nothing is lost.',
    input: z.strictObject({
      timeout: z
        .number()
        .min(0)
        .max(604_800)
        .default(300)
        .describe('Seconds to wait; stops no agent'),
      agent_ids: z
        .array(agentId)
        .min(1)
        .max(500)
        .optional()
        .describe('Default: all active'),
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
      if (ids.length === 0) return nothingRunning(host, context.clientName);
      const { finished, waiting, elapsedMs } = await waitWithProgress(
        host,
        { agentIds: ids, mode, seconds: timeout },
        context
      );
      const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
      const still_running = waiting.map(({ record }) => record.agent_id);
      const tell = (results: Record<string, unknown>[], brief?: string) =>
        waiting.length === 0
          ? {
              status: 'all_completed',
              elapsed_seconds,
              ...said(brief),
              results
            }
          : {
              status:
                mode === 'any' && finished.length > 0
                  ? 'any_completed'
                  : 'timeout',
              elapsed_seconds,
              still_running,
              ...said(
                'The rest goes on in the background. Call wait_for_agents again with still_running as agent_ids.',
                brief
              ),
              completed_results: results
            };
      return fitAnswer(
        context.clientName,
        async (chars) => tell(await reportAll(host, finished, chars)),
        () => tell(finished.map(briefly), 'result gives each answer.')
      );
    }
  });
}

async function known(host: Host, ids: string[]): Promise<string[]> {
  for (const id of ids) if (!host.store.has(id)) throw unknownAgent(id);
  return ids;
}

function said(...sentences: (string | undefined)[]) {
  const message = sentences.filter((one) => one !== undefined).join(' ');
  return message === '' ? {} : { message };
}

async function nothingRunning(
  host: Host,
  clientName: string
): Promise<Record<string, unknown>> {
  const ids = await host.recent(5);
  const runs = await Promise.all(ids.map((id) => host.tracker.run(id)));
  const recent = runs.filter((run) => run !== undefined);
  return fitAnswer(clientName, async (chars) => ({
    status: 'no_agents_running',
    message: 'No agent is running. These ended last.',
    recent_results: await reportAll(host, recent, chars)
  }));
}

/** Several answers share what one answer may carry. */
function reportAll(host: Host, runs: Run[], chars: number) {
  const budget = Math.floor(chars / Math.max(1, runs.length));
  return Promise.all(
    runs.map((run) =>
      reportRun(run, host.store, host.tracker, undefined, budget)
    )
  );
}

/** One of so many that their answers have no room. */
function briefly({ record, status, outcome }: Run) {
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    status,
    error_code: outcome?.error_code ?? null
  };
}
