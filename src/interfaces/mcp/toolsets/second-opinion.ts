import { z } from 'zod';
import type { Answer, Facts } from '../../../answers/budget.ts';
import { errorCut, reachOf, reportRun } from '../../../answers/format-run.ts';
import {
  ofAgent,
  type Reading,
  readWords
} from '../../../answers/read-output.ts';
import { linePart, listPart } from '../../../answers/truncate.ts';
import {
  askEngines,
  verdictIn
} from '../../../core/opinions/second-opinion.ts';
import type { Run } from '../../../core/runs/run.ts';
import { shortName } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { fitAnswer, messageField } from '../answers/client-limits.ts';
import { markRead } from '../answers/mark-read.ts';
import { waitWithProgress } from '../answers/wait-with-progress.ts';
import { hasRuns, waysOn } from '../answers/ways-on.ts';
import {
  asking,
  defineTool,
  type Tool,
  type ToolContext
} from '../tool/define-tool.ts';
import { systemPrompt, timeout } from './shapes.ts';

const defaultSeconds = 300;
/** Seconds in which an engine that reaches its time limit is stopped. */
const endingSeconds = 5;

export function secondOpinionTool(host: Host): Tool {
  return defineTool({
    name: 'second_opinion',
    title: 'Second opinion',
    description: `Asks several engines one question side by side, read-only, and gives each answer and verdict.${hasRuns(host.config) ? ' Waits like wait_for_agents.' : ''}`,
    input: z.strictObject({
      question: z
        .string()
        .regex(/\S/, 'is empty')
        .describe('With all they need: they see nothing else'),
      engines: z
        .array(z.string().min(1).max(64))
        .min(1)
        .max(10)
        .optional()
        .describe('Such as "claude"; default: up to three ready ones'),
      system_prompt: systemPrompt,
      context_files: z
        .array(z.string().min(1).max(4096))
        .max(50)
        .optional()
        .describe('Paths; given to them whole'),
      timeout
    }),
    annotations: asking,
    handle: async (input, context) => {
      const { question, system_prompt, timeout, context_files = [] } = input;
      const { caller, clientName } = context;
      const { ids, refusals } = await askEngines(
        {
          text: question,
          files: context_files,
          engines: input.engines,
          clientName,
          caller,
          systemPrompt: system_prompt,
          timeoutSeconds: timeout
        },
        host
      );
      const seconds = (timeout ?? defaultSeconds) + endingSeconds;
      return answers(host, ids, refusals, seconds, context);
    }
  });
}

async function answers(
  host: Host,
  agentIds: string[],
  refusals: string[],
  seconds: number,
  context: ToolContext
): Promise<Facts> {
  const { finished, waiting, lost, elapsedMs } = await waitWithProgress(
    host,
    { agentIds, mode: 'all', seconds },
    context
  );
  const runs = new Map(
    [...finished, ...waiting].map((run) => [run.record.agent_id, run])
  );
  const asked = agentIds.flatMap((id) => runs.get(id) ?? []);
  const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
  const state =
    waiting.length === 0
      ? {
          status: lost.length > 0 ? 'agents_lost' : 'all_completed',
          elapsed_seconds
        }
      : {
          status: 'timeout',
          elapsed_seconds,
          still_running: waiting.map(({ record }) => record.agent_id)
        };
  const ways = waysOn(host.config);
  const notes = lost.map(({ message }) => message);
  if (waiting.length > 0)
    notes.push(`Some are still running. ${ways.waitForRest}; nothing is lost.`);
  notes.push(...host.configNotices);
  const reading = { reach: reachOf(asked) };
  const opinions = await Promise.all(
    asked.map((run) => readOpinion(host, run, reading))
  );
  const form =
    (kind: keyof Opinion, ...brief: string[]): Answer =>
    (put) => ({
      ...state,
      ...messageField(...notes, ...brief),
      opinions: opinions.map((opinion) => opinion[kind](put)),
      ...(refusals.length === 0
        ? {}
        : put(listPart('not_started', refusals, true)))
    });
  const answer = fitAnswer(context.clientName, [
    { answer: form('full'), minBytes: 300 },
    { answer: form('short', ways.shortNote) }
  ]);
  return markRead(answer, host, context);
}

interface Opinion {
  full: Answer;
  /** Without paths, which can be too long for a client. */
  short: Answer;
}

/** The answer of one engine, with its verdict, cost and duration. */
async function readOpinion(
  host: Host,
  run: Run,
  reading: Reading
): Promise<Opinion> {
  const { record, status, outcome } = run;
  const engine = {
    engine: record.engine,
    agent_id: record.agent_id,
    status,
    read_only: record.enforcement
  };
  if (!outcome) {
    const report = await reportRun(run, host.store, host.tracker);
    const source = 'source' in report ? ofAgent : {};
    const answer = () => ({ ...engine, ...source, message: report.message });
    return { full: answer, short: answer };
  }
  const directory = host.store.directoryOf(record.agent_id);
  const words = await readWords(directory, outcome, reading);
  const { error, error_code, cost_usd } = outcome;
  const verdict = status === 'completed' ? verdictIn(words.path) : null;
  return {
    full: (put) => ({
      ...engine,
      model: shortName(outcome.model ?? 'default'),
      ...ofAgent,
      ...put(linePart('error', error, errorCut)),
      error_code,
      full_output: words.path,
      ...put(linePart('verdict', verdict)),
      ...put(words[hasRuns(host.config) ? 'full' : 'filed']('answer')),
      cost_usd,
      seconds: outcome.duration_ms / 1000
    }),
    short: (put) => ({
      ...engine,
      ...ofAgent,
      ...put(linePart('error', error)),
      error_code,
      ...put(linePart('verdict', verdict)),
      ...put(words.short('answer'))
    })
  };
}
