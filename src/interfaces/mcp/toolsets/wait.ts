import { z } from 'zod';
import { HostError } from '../../../core/errors.ts';
import { unknownAgent } from '../../../core/runs/continue-run.ts';
import type { Facts, Form } from '../../../core/runs/fit.ts';
import { listPart } from '../../../core/runs/parts.ts';
import { type Report, reachOf, readReport } from '../../../core/runs/report.ts';
import type { Run, RunRecord } from '../../../core/runs/run.ts';
import { unlessSpoilt } from '../../../core/runs/spoilt.ts';
import type { SpoiltRun, WaitResult } from '../../../core/runs/waiter.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { fitAnswer, said, toldShortly } from '../fit-answer.ts';
import { given } from '../given.ts';
import { waitWithProgress } from '../wait-with-progress.ts';
import { agentId, reading } from './agent-input.ts';

/** Of a wait for agents by name. */
const mostIds = 500;

/** Waits for agents of this workspace and gives their answers. */
export function waitTool(host: Host): Tool {
  return defineTool({
    name: 'wait_for_agents',
    title: 'Wait for agents',
    description:
      'Waits until agents end and gives their answers: no need to call result for what is not truncated. On status "timeout" call again; nothing is lost.',
    input: z.strictObject({
      timeout: z
        .number()
        .min(0)
        .max(604_800)
        .default(300)
        .describe('Seconds; stops no agent'),
      agent_ids: z
        .array(agentId)
        .min(1)
        .max(mostIds)
        .optional()
        .describe('Default: all active; asked by an agent, its own'),
      squadId: z.string().min(1).max(64).optional().describe('All its members'),
      mode: z.enum(['all', 'any']).default('all')
    }),
    annotations: reading,
    handle: async ({ timeout, agent_ids, squadId, mode }, context) => {
      const asked = await wanted(host, agent_ids, squadId);
      const { ids, missing } = asked;
      const notes =
        missing > 0
          ? [
              `${missing} members of that squad never started, or were cleaned away.`
            ]
          : [];
      if (ids.length === 0)
        return given(
          await nothingRunning(host, context.clientName, notes, asked.over),
          host,
          context
        );
      const { finished, waiting, spoilt, elapsedMs } = await waitWithProgress(
        host,
        { agentIds: ids, mode, seconds: timeout },
        context
      );
      const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
      const still_running = waiting.map(({ record }) => record.agent_id);
      if (host.origin.isAgents() && waiting.some(isQueued))
        notes.push(queuedBehindUs);
      const isAny = mode === 'any' && finished.length > 0;
      const squad = squadId === undefined ? {} : { squadId };
      const answer = fitAnswer(
        context.clientName,
        await formsOf(host, { finished, spoilt }, (results, brief, list) =>
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
      return given(answer, host, context);
    }
  });
}

interface Wanted {
  ids: string[];
  missing: number;
  /** Known when all that run were looked for. */
  over?: string[];
}

/** Those that are named, else all that run. */
async function wanted(
  host: Host,
  named: string[] | undefined,
  squadId: string | undefined
): Promise<Wanted> {
  const above = host.origin.isAgents() ? host.origin.lineage() : [];
  if (!named && squadId === undefined) {
    const { active, over } = await host.tracker.standing();
    const records = active.map(({ record }) => record);
    // Two agents that waited for all would wait for each other.
    const its = above[0] === undefined ? records : below(above[0], records);
    return { ids: its.map(({ agent_id }) => agent_id), missing: 0, over };
  }
  for (const id of named ?? [])
    if (!host.store.has(id)) throw unknownAgent(id, host.store);
  const { ids, missing } =
    squadId === undefined
      ? { ids: [], missing: 0 }
      : await host.squads.agentsOf(squadId);
  const all = [...new Set([...(named ?? []), ...ids])];
  const own = all.find((id) => above.includes(id));
  if (own === undefined) return { ids: all, missing };
  throw new HostError(
    'invalid_input',
    `Agent ${own} is ${own === above[0] ? 'the one that asks' : 'one that waits for the one that asks'}: it cannot end before this wait does.`,
    'Name the others in agent_ids, and wait for those only.'
  );
}

/** Those that an agent has started, and what they have started in turn. */
function below(agentId: string, records: RunRecord[]): RunRecord[] {
  const own = records.filter(({ parent }) => parent === agentId);
  return own.flatMap((one) => [one, ...below(one.agent_id, records)]);
}

async function nothingRunning(
  host: Host,
  clientName: string,
  notes: string[],
  over?: string[]
): Promise<Facts> {
  const ids = host.recent(5, over);
  const runs = await Promise.all(
    ids.map((id) => unlessSpoilt(host.tracker.run(id)))
  );
  const finished = runs.filter((run) => run !== undefined);
  return fitAnswer(
    clientName,
    await formsOf(host, { finished, spoilt: [] }, (results, brief, list) => ({
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
  { finished, spoilt }: Pick<WaitResult, 'finished' | 'spoilt'>,
  envelope: Envelope
): Promise<Form[]> {
  const reach = reachOf(finished);
  const reports = await Promise.all(
    finished.map((run) => readReport(run, host.store, host.tracker, { reach }))
  );
  reports.push(...spoilt.map(reportSpoilt));
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

/** How it stands nobody can say, so it has no status. */
function reportSpoilt({ agentId, problem }: SpoiltRun): Report {
  const row = { agent_id: agentId, error_code: problem.code };
  const bare = () => row;
  const error = () => ({ ...row, error: problem.message, hint: problem.hint });
  return { full: error, words: error, error: bare, bare };
}

function isQueued({ status }: Run): boolean {
  return status === 'queued';
}

const queuedBehindUs =
  'Some are queued: they start when agents at work end, of which you are one. So do not wait for them to your end.';

const errorsOnly =
  'Told without answers, as there are so many: call result for each.';

const onlyRows =
  'None has room for its answer, and where a total is told, not all have a row: call result for each, or wait_for_agents with fewer agent_ids.';
