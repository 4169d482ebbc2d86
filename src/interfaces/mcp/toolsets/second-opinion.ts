import { z } from 'zod';
import { HostError } from '../../../core/errors.ts';
import { chooseExperts } from '../../../core/opinions/choose-experts.ts';
import { readContextFiles } from '../../../core/opinions/context-files.ts';
import { questionPrompt, verdictOf } from '../../../core/opinions/question.ts';
import type { Answer, Facts, Form } from '../../../core/runs/fit.ts';
import { linePart, listPart, shortName } from '../../../core/runs/parts.ts';
import { errorCut, reachOf, reportRun } from '../../../core/runs/report.ts';
import type { Run } from '../../../core/runs/run.ts';
import { ofAgent, type Reading, readWords } from '../../../core/runs/words.ts';
import { tailOf } from '../../../core/state/text-file.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool, type ToolContext } from '../define-tool.ts';
import { fitAnswer, said, toldShortly } from '../fit-answer.ts';
import { given } from '../given.ts';
import { waitWithProgress } from '../wait-with-progress.ts';

const defaultSeconds = 300;
/** An engine at its limit is stopped within this time. */
const endingSeconds = 5;
/** Of a long answer, so much of its end is searched for the verdict. */
const endBytes = 64 * 1024;

/** Several engines, one question, side by side. */
export function secondOpinionTool(host: Host): Tool {
  return defineTool({
    name: 'second_opinion',
    title: 'Second opinion',
    description:
      'Asks several engines one question side by side, read-only, and gives each answer and verdict. Waits like wait_for_agents.',
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
      system_prompt: z.string().min(1).max(100_000).optional(),
      context_files: z
        .array(z.string().min(1).max(4096))
        .max(50)
        .optional()
        .describe('Paths; given to them whole'),
      timeout: z
        .number()
        .positive()
        .max(604_800)
        .optional()
        .describe('Seconds until stopped')
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true
    },
    handle: async (input, context) => {
      const { question, system_prompt, timeout, context_files = [] } = input;
      const engines = chooseExperts(input.engines, context.clientName, host);
      const files = readContextFiles(host.config.workspace, context_files);
      const prompt = questionPrompt(question, files);
      const asked = await Promise.allSettled(
        engines.map((engine) =>
          host.spawn({
            engine,
            prompt,
            access: 'read',
            systemPrompt: system_prompt,
            timeoutSeconds: timeout
          })
        )
      );
      const ids = asked.flatMap((one) =>
        one.status === 'fulfilled' ? one.value.record.agent_id : []
      );
      const refusals = asked.flatMap((one) =>
        one.status === 'rejected' ? [one.reason] : []
      );
      if (ids.length === 0) throw refusals[0];
      const seconds = (timeout ?? defaultSeconds) + endingSeconds;
      return answers(host, ids, refusals.map(refusalOf), seconds, context);
    }
  });
}

/** A full disk may refuse some and not others. */
function refusalOf(reason: unknown): string {
  if (reason instanceof HostError) return `${reason.message} ${reason.hint}`;
  throw reason;
}

async function answers(
  host: Host,
  agentIds: string[],
  refusals: string[],
  seconds: number,
  context: ToolContext
): Promise<Facts> {
  const { finished, waiting, elapsedMs } = await waitWithProgress(
    host,
    { agentIds, mode: 'all', seconds },
    context
  );
  const runs = new Map(
    [...finished, ...waiting].map((run) => [run.record.agent_id, run])
  );
  const asked = agentIds.flatMap((id) => runs.get(id) ?? []);
  const elapsed_seconds = Math.round(elapsedMs / 100) / 10;
  const standing =
    waiting.length === 0
      ? { status: 'all_completed', elapsed_seconds }
      : {
          status: 'timeout',
          elapsed_seconds,
          still_running: waiting.map(({ record }) => record.agent_id)
        };
  const goesOn =
    waiting.length === 0
      ? []
      : [
          'Some are still at it. Call wait_for_agents with still_running as agent_ids; nothing is lost.'
        ];
  const reading = { reach: reachOf(asked) };
  const opinions = await Promise.all(
    asked.map((run) => readOpinion(host, run, reading))
  );
  const form = (
    kind: keyof Opinion,
    least: number,
    ...brief: string[]
  ): Form => ({
    least,
    answer: (told) => ({
      ...standing,
      ...said(...goesOn, ...brief),
      opinions: opinions.map((opinion) => opinion[kind](told)),
      ...(refusals.length === 0
        ? {}
        : told(listPart('not_started', refusals, true)))
    })
  });
  const answer = fitAnswer(context.clientName, [
    form('full', 300),
    form('short', 0, toldShortly)
  ]);
  return given(answer, host, context);
}

interface Opinion {
  full: Answer;
  /** Paths can be so long that a client has no room for them. */
  short: Answer;
}

/** An engine's own words, and what it took. */
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
    const told = () => ({ ...engine, ...source, message: report.message });
    return { full: told, short: told };
  }
  const directory = host.store.directoryOf(record.agent_id);
  const words = await readWords(directory, outcome, reading);
  const { error, error_code, cost_usd } = outcome;
  const verdict =
    status === 'completed' ? verdictOf(tailOf(words.path, endBytes)) : null;
  return {
    full: (told) => ({
      ...engine,
      model: shortName(outcome.model ?? 'default'),
      ...ofAgent,
      ...told(linePart('error', error, errorCut)),
      error_code,
      full_output: words.path,
      ...told(linePart('verdict', verdict)),
      ...told(words.full('answer')),
      cost_usd,
      seconds: outcome.duration_ms / 1000
    }),
    short: (told) => ({
      ...engine,
      ...ofAgent,
      ...told(linePart('error', error)),
      error_code,
      ...told(linePart('verdict', verdict)),
      ...told(words.short('answer'))
    })
  };
}
