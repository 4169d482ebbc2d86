import { z } from 'zod';
import { unknownAgent } from '../../../core/runs/continue-run.ts';
import type { Facts, Form } from '../../../core/runs/fit.ts';
import { listPart } from '../../../core/runs/parts.ts';
import { type Report, reachOf, readReport } from '../../../core/runs/report.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { fitAnswer, said, toldShortly } from '../fit-answer.ts';
import { waitWithProgress } from '../wait-with-progress.ts';
import { agentId, looking } from './agent-input.ts';

/** Of a wait for agents by name. */
const mostIds = 500;

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
        .max(mostIds)
        .optional()
        .describe('Default: all active'),
      squadId: z.string().min(1).max(64).optional().describe('All its members'),
      mode: z
        .enum(['all', 'any'])
        .default('all')
        .describe('any: return at the first that ends')
    }),
    output: z.looseObject({ status: z.string() }),
    annotations: looking,
    handle: async ({ timeout, agent_ids, squadId, mode }, context) => {
      const { ids, missing } = await wanted(host, agent_ids, squadId);
      const notes =
        missing > 0 ? [`${missing} members of that squad never started.`] : [];
      if (ids.length === 0)
        return nothingRunning(host, context.clientName, notes);
      const { finished, waiting, elapsedMs } = await waitWithProgress(
        host,
        { agentIds: ids, mode, seconds: timeout },
        context
      );
      const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
      const still_running = waiting.map(({ record }) => record.agent_id);
      const isAny = mode === 'any' && finished.length > 0;
      const squad = squadId === undefined ? {} : { squadId };
      return fitAnswer(
        context.clientName,
        await formsOf(host, finished, (results, brief, list) =>
          waiting.length === 0
            ? {
                status: 'all_completed',
                ...squad,
                elapsed_seconds,
                ...said(...notes, ...brief),
                ...list('results', results)
              }
            : {
                status: isAny ? 'any_completed' : 'timeout',
                ...squad,
                elapsed_seconds,
                ...list('still_running', still_running),
                ...said(
                  `The rest goes on in the background. Call wait_for_agents again ${
                    squadId !== undefined
                      ? 'with the same squadId'
                      : still_running.length > mostIds
                        ? 'without agent_ids'
                        : 'with still_running as agent_ids'
                  }.`,
                  ...notes,
                  ...brief
                ),
                ...list('completed_results', results)
              }
        )
      );
    }
  });
}

/** Those that are named, else all that run. */
async function wanted(
  host: Host,
  named: string[] | undefined,
  squadId: string | undefined
): Promise<{ ids: string[]; missing: number }> {
  if (!named && squadId === undefined) {
    const active = await host.tracker.active();
    return { ids: active.map(({ record }) => record.agent_id), missing: 0 };
  }
  for (const id of named ?? []) if (!host.store.has(id)) throw unknownAgent(id);
  const { ids, missing } =
    squadId === undefined
      ? { ids: [], missing: 0 }
      : await host.squads.agentsOf(squadId);
  return { ids: [...new Set([...(named ?? []), ...ids])], missing };
}

async function nothingRunning(
  host: Host,
  clientName: string,
  notes: string[]
): Promise<Facts> {
  const ids = await host.recent(5);
  const runs = await Promise.all(ids.map((id) => host.tracker.run(id)));
  const recent = runs.filter((run) => run !== undefined);
  return fitAnswer(
    clientName,
    await formsOf(host, recent, (results, brief, list) => ({
      status: 'no_agents_running',
      ...said(...notes, 'No agent is running. These ended last.', ...brief),
      ...list('recent_results', results)
    }))
  );
}

/** Puts results, what is to be said of them, and its lists into an answer. */
type Envelope = (
  results: Facts[],
  brief: string[],
  list: (name: string, items: unknown[]) => Facts
) => Facts;

/**
 * Results of several agents, the fullest form first: with all facts, with
 * their words and how they ended, with what went wrong, without any words;
 * and of that as many as there is room for.
 */
async function formsOf(
  host: Host,
  runs: Run[],
  envelope: Envelope
): Promise<Form[]> {
  const reading = { reach: reachOf(runs) };
  const reports = await Promise.all(
    runs.map((run) => readReport(run, host.store, host.tracker, reading))
  );
  const form = (
    kind: keyof Report,
    least: number,
    ...brief: string[]
  ): Form => ({
    least,
    answer: (told) =>
      envelope(
        reports.map((report) => report[kind](told)),
        brief,
        (name, items) => ({ [name]: items })
      )
  });
  return [
    form('full', 1000),
    form('words', 64, toldShortly),
    form('error', 32, errorsOnly),
    {
      least: 0,
      answer: (told) =>
        envelope(
          reports.map((report) => report.bare(told)),
          [onlyRows],
          (name, items) => told(listPart(name, items))
        )
    }
  ];
}

const errorsOnly =
  'Told without answers, as there are so many: call result for each.';

const onlyRows =
  'None has room for its answer, and where a total is told, not all have a row: call result for each, or wait_for_agents with fewer agent_ids.';
