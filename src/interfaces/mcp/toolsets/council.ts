import { z } from 'zod';
import type { Council } from '../../../core/council/council.ts';
import { waitForResponses } from '../../../core/council/wait-for-responses.ts';
import type { Facts } from '../../../core/runs/fit.ts';
import type { Host } from '../../../host.ts';
import { limitsOf } from '../clients.ts';
import { type Telling, tellIn } from '../council-answer.ts';
import {
  closedAnswer,
  sentAnswer,
  startedAnswer
} from '../council-receipts.ts';
import { defineTool, type Tool, type ToolContext } from '../define-tool.ts';
import { said } from '../fit-answer.ts';
import { markdownOf } from '../markdown.ts';
import { looking, reading } from './agent-input.ts';
import { councilName, summonTool } from './summon.ts';

/** Longer than anything that anybody reads. */
const mostChars = 4_000_000;

const defaultSeconds = 45;

const acting = { ...looking, readOnlyHint: false, idempotentHint: false };
/** The others see who has come: that is all it changes. */
const coming = { ...reading, readOnlyHint: false };

/** Agents that answer one request together, for one client. */
export function councilTools(host: Host, council: Council): Tool[] {
  const { councilStore: store } = host;
  const { agentName, format } = host.config.councilDoor ?? {};
  const words = z.string().max(mostChars).regex(/\S/, 'is empty');
  const cursor = z
    .string()
    .max(200)
    .nullish()
    .describe('next_cursor of your last answer');
  // Who was given a name at the start of the server is not asked for it.
  const who: { agent_name?: z.ZodString } =
    agentName === undefined ? { agent_name: councilName() } : {};
  const textOf = format === 'markdown' ? markdownOf : undefined;
  const nameIn = (input: Named) => agentName ?? String(input.agent_name);
  const telling = (
    input: Named,
    { clientName }: ToolContext,
    withRequest: boolean
  ): Telling => ({
    clientName,
    withRequest,
    statePath: store.file.path,
    asked: nameIn(input),
    textOf
  });
  return [
    defineTool({
      name: 'start_council',
      title: 'Start a council',
      description:
        'Opens a council: agents of any client on this machine answer your request together. It replaces an open one, which is kept.',
      input: z.strictObject({
        request: words.describe('With all they need to know'),
        ...who
      }),
      annotations: acting,
      textOf,
      handle: async (input, context) =>
        startedAnswer(
          await council.start(nameIn(input), input.request),
          telling(input, context, false)
        )
    }),
    defineTool({
      name: 'join_council',
      title: 'Join the council',
      description:
        'Takes part in the council: gives its request and responses.',
      input: z.strictObject({ ...who }),
      annotations: coming,
      textOf,
      handle: (input, context) =>
        council.join(nameIn(input), tellIn(telling(input, context, true)))
    }),
    defineTool({
      name: 'get_current_session_data',
      title: 'Read the council',
      description:
        'The responses after cursor, at once; without one, request and responses. more: call again with next_cursor.',
      input: z.strictObject({ ...who, cursor }),
      annotations: coming,
      textOf,
      handle: (input, context) =>
        council.read(
          nameIn(input),
          input.cursor || null,
          tellIn(telling(input, context, !input.cursor))
        )
    }),
    defineTool({
      name: 'wait_for_responses',
      title: 'Wait for responses',
      description:
        'Waits until another responds or the council is closed. Call it again until status is "closed" or you have heard enough.',
      input: z.strictObject({
        ...who,
        cursor,
        timeout: z
          .number()
          .min(0)
          .max(604_800)
          .default(defaultSeconds)
          .describe('Seconds')
      }),
      annotations: coming,
      textOf,
      handle: async (input, context) => {
        const { waitSeconds } = limitsOf(context.clientName);
        const seconds = Math.min(input.timeout, waitSeconds);
        const { told, isTimeout } = await waitForResponses(
          council,
          store,
          {
            agentName: nameIn(input),
            cursor: input.cursor || null,
            timeoutMs: 1000 * seconds,
            signal: context.signal,
            onProgress: (waitedMs, { participants, session }) =>
              context.progress(
                Math.round(waitedMs / 10) / 100,
                seconds,
                `council ${session.id}: ${participants.length} take part`
              )
          },
          tellIn(telling(input, context, false))
        );
        return isTimeout
          ? { ...told, timed_out: true, ...said(...notes(told), nothingNew) }
          : told;
      }
    }),
    defineTool({
      name: 'send_response',
      title: 'Respond',
      description:
        'Records your response, for all to read. May be called again.',
      input: z.strictObject({ ...who, content: words }),
      annotations: acting,
      textOf,
      handle: async (input) =>
        sentAnswer(
          await council.send(nameIn(input), input.content),
          nameIn(input)
        )
    }),
    summonTool(host, textOf),
    defineTool({
      name: 'close_council',
      title: 'Close the council',
      description: 'Ends the council; all are told your conclusion.',
      input: z.strictObject({ ...who, conclusion: words }),
      annotations: acting,
      textOf,
      handle: async (input, context) =>
        closedAnswer(
          await council.close(nameIn(input), input.conclusion),
          telling(input, context, false)
        )
    })
  ];
}

const nothingNew = 'Nothing new since then; nothing is lost.';

function notes({ message }: Facts): string[] {
  return typeof message === 'string' ? [message] : [];
}

interface Named {
  /** By the schema a name; absent where the server has one. */
  agent_name?: unknown;
}
