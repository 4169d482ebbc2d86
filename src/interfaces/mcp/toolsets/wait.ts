import { z } from 'zod';
import { asksField } from '../../../answers/asks.ts';
import type { Answer, Facts, Form, Put } from '../../../answers/budget.ts';
import {
  type Report,
  reachOf,
  readReport
} from '../../../answers/format-run.ts';
import { listPart } from '../../../answers/truncate.ts';
import {
  type Asker,
  inScope,
  refuseLineage,
  type Scope
} from '../../../core/runs/admission/scope.ts';
import { unlessCorrupt } from '../../../core/runs/damaged-run.ts';
import type {
  CorruptRun,
  LostRun,
  WaitResult
} from '../../../core/runs/end/waiter.ts';
import type { Run } from '../../../core/runs/run.ts';
import { unknownAgent } from '../../../core/runs/start/continue-run.ts';
import type { Host } from '../../../host/host.ts';
import {
  fitAnswer,
  messageField,
  readableFor
} from '../answers/client-limits.ts';
import { markRead } from '../answers/mark-read.ts';
import { waitWithProgress } from '../answers/wait-with-progress.ts';
import { answerAsks, byTool } from '../answers/ways-on.ts';
import { defineTool, reading, type Tool } from '../tool/define-tool.ts';
import { agentId } from './shapes.ts';

/** The most agents that one call can name. */
const mostIds = 500;

export function waitTool(host: Host): Tool {
  return defineTool({
    name: 'wait_for_agents',
    title: 'Wait for agents',
    description:
      'Waits until your agents end and gives their answers; call result only for truncated ones. On status "timeout" call again.',
    input: z.strictObject({
      timeout: z
        .number()
        .min(0)
        .max(604_800)
        .default(300)
        .describe('Seconds; stops no agent'),
      agent_ids: z.array(agentId).min(1).max(mostIds).optional(),
      squadId: z.string().min(1).max(64).optional().describe('All its members'),
      mode: z.enum(['all', 'any']).default('all'),
      scope: z
        .enum(['mine', 'workspace'])
        .default('mine')
        .describe('Without ids')
    }),
    annotations: reading,
    textFor: readableFor,
    handle: async ({ timeout, agent_ids, squadId, mode, scope }, context) => {
      const asked = await wanted(host, context, scope, agent_ids, squadId);
      const { ids, missing, others } = asked;
      const notes =
        missing > 0
          ? [
              `${missing} members of that squad never started, or were cleaned away.`
            ]
          : [];
      if (ids.length === 0)
        return markRead(
          await nothingRunning(host, context.clientName, notes, asked),
          host,
          context
        );
      const { finished, waiting, spoilt, lost, asks, elapsedMs } =
        await waitWithProgress(
          host,
          { agentIds: ids, mode, seconds: timeout, mayRepeat: true },
          context
        );
      const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
      const still_running = waiting.map(({ record }) => record.agent_id);
      if (host.origin.isAgents() && waiting.some(isQueued))
        notes.push(queuedBehindUs);
      const isAny = mode === 'any' && finished.length > 0;
      if (lost.length > 0) notes.push(didNotComplete);
      const squad = squadId === undefined ? {} : { squadId };
      const answer = fitAnswer(
        context.clientName,
        await formsOf(
          host,
          { finished, spoilt },
          (results, brief, list, put) =>
            waiting.length === 0
              ? {
                  status: lost.length > 0 ? 'agents_lost' : 'all_completed',
                  ...squad,
                  elapsed_seconds,
                  ...others,
                  ...lostOf(lost, list),
                  ...messageField(...notes, ...brief),
                  ...list(
                    lost.length > 0 ? 'completed_results' : 'results',
                    results
                  )
                }
              : {
                  status:
                    asks.length > 0
                      ? 'needs_answer'
                      : isAny
                        ? 'any_completed'
                        : 'timeout',
                  ...squad,
                  elapsed_seconds,
                  ...asksField(asks, put),
                  ...lostOf(lost, list),
                  ...list('still_running', still_running),
                  ...others,
                  ...messageField(
                    ...(asks.length > 0 ? [answerAsks(asks, host.config)] : []),
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
        ),
        readableFor(context.clientName)
      );
      return markRead(answer, host, context);
    }
  });
}

interface Wanted {
  ids: string[];
  /** The number of squad members without an agent. */
  missing: number;
  /** Agents that have just ended; only in a wait for a whole scope. */
  over?: readonly string[];
  /** Active agents of other callers; only in a wait for the caller's agents. */
  others?: { others_running: number };
}

/**
 * The agents to wait for: the named ones, else all of the scope.
 * @throws HostError `unknown_agent`, or `invalid_input` for an agent that waits
 *   for the caller
 */
async function wanted(
  host: Host,
  asker: Asker,
  scope: Scope,
  named: string[] | undefined,
  squadId: string | undefined
): Promise<Wanted> {
  if (!named && squadId === undefined) {
    await host.endVanished();
    const { active, over } = await host.tracker.standing();
    const { ids, others } = inScope(active, scope, asker, host);
    const counted =
      scope === 'mine' ? { others: { others_running: others } } : {};
    return { ids, missing: 0, over, ...counted };
  }
  const { store, tracker } = host;
  for (const id of named ?? []) {
    // The wait itself reports an agent whose folder was removed.
    const isLost = store.lost.messageOf(id) || tracker.isFollowed(id);
    if (!store.has(id) && !isLost) throw unknownAgent(id, store);
  }
  const { ids, missing } =
    squadId === undefined
      ? { ids: [], missing: 0 }
      : await host.squads.agentsOf(squadId);
  const all = [...new Set([...(named ?? []), ...ids])];
  refuseLineage(all, host.origin);
  return { ids: all, missing };
}

async function nothingRunning(
  host: Host,
  clientName: string,
  notes: string[],
  { over, others }: Wanted
): Promise<Facts> {
  const ids = host.recent(5, over);
  const runs = await Promise.all(
    ids.map((id) => unlessCorrupt(host.tracker.run(id)))
  );
  const finished = runs.filter((run) => run !== undefined);
  return fitAnswer(
    clientName,
    await formsOf(host, { finished, spoilt: [] }, (results, brief, list) => ({
      status: 'no_agents_running',
      ...others,
      ...messageField(
        ...notes,
        `${noneRunning(others)} These ended last.`,
        ...brief
      ),
      ...list('recent_results', results)
    })),
    readableFor(clientName)
  );
}

function noneRunning(others: Wanted['others']): string {
  const count = others?.others_running ?? 0;
  if (count === 0) return 'No agent is running.';
  return `No agent of yours is running. Others have ${count} at work or queued: scope "workspace" waits for them.`;
}

/** Builds an answer around results, with notes about them. */
type Envelope = (
  results: Facts[],
  brief: string[],
  list: (name: string, items: unknown[]) => Facts,
  put: Put
) => Facts;

/**
 * Forms of an answer about several agents, from the longest to the shortest:
 * all facts, the output, the error, only the status. The last form has as many
 * rows as fit.
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
  const form =
    (kind: keyof Report, ...brief: string[]): Answer =>
    (put) =>
      envelope(
        reports.map((report) => report[kind](put)),
        brief,
        (name, items) =>
          kind === 'bare' ? put(listPart(name, items)) : { [name]: items },
        put
      );
  return [
    { answer: form('full'), minBytes: 1000 },
    { answer: form('words', byTool.shortNote), minBytes: 64 },
    { answer: form('error', errorsOnly), minBytes: 32 },
    { answer: form('bare', onlyRows) }
  ];
}

function lostOf(lost: LostRun[], list: Parameters<Envelope>[2]): Facts {
  const rows = lost.map(({ agentId, message }) => ({
    agent_id: agentId,
    message
  }));
  return rows.length > 0 ? list('lost', rows) : {};
}

const didNotComplete =
  'Agents in lost did not complete, and nothing of them is kept.';

/** The status of a corrupt record is unknown. */
function reportSpoilt({ agentId, problem }: CorruptRun): Report {
  const row = { agent_id: agentId, error_code: problem.code };
  const bare = () => row;
  const error = () => ({ ...row, error: problem.message, hint: problem.hint });
  return { full: error, words: error, error: bare, bare };
}

function isQueued({ status }: Run): boolean {
  return status === 'queued';
}

const queuedBehindUs =
  'Some are queued until running agents end, and you are one of those: do not wait endlessly for them.';

const errorsOnly =
  'There are too many to include answers: call result for each.';

const onlyRows =
  'The answers do not fit, and where a total is given, some rows are missing: call result for each, or wait_for_agents with fewer agent_ids.';
