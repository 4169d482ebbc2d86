import { z } from 'zod';
import type { Facts } from '../../../answers/budget.ts';
import type { Council, FormattedView } from '../../../core/council/council.ts';
import { waitForResponses } from '../../../core/council/wait-for-responses.ts';
import type { Host } from '../../../host/host.ts';
import { limitsOf, messageField } from '../answers/client-limits.ts';
import {
  type AnswerOptions,
  closedAnswer,
  sentAnswer,
  startedAnswer,
  viewFormatter
} from '../answers/council-answer.ts';
import { markdownOf } from '../answers/markdown.ts';
import {
  acting,
  asking,
  defineTool,
  type Hints,
  hinted,
  reading,
  type TextOf,
  type Tool,
  type ToolContext
} from '../tool/define-tool.ts';
import { model } from './shapes.ts';

/** Characters of a request, response or conclusion; more than agents read. */
const mostChars = 4_000_000;

const defaultSeconds = 45;

/** Annotations of a tool that only adds its caller to the participants. */
const joining = { ...reading, readOnlyHint: false };

/** The tools of the council, for one client. */
export function councilTools(host: Host, council: Council): Tool[] {
  const { councilStore: store } = host;
  const { agentName, format } = host.config.councilDoor ?? {};
  const longText = z.string().max(mostChars).regex(/\S/, 'is empty');
  const cursor = z
    .string()
    .max(200)
    .nullish()
    .describe('next_cursor of your last answer');
  // A server that was started with an agent name does not ask for one.
  const nameInput: { agent_name?: z.ZodString } =
    agentName === undefined ? { agent_name: councilName() } : {};
  const textOf = format === 'markdown' ? markdownOf : undefined;
  const textFor = () => textOf;
  const nameIn = (input: Named) => agentName ?? String(input.agent_name);
  const optionsOf = (
    input: Named,
    { clientName }: ToolContext,
    withRequest: boolean
  ): AnswerOptions => ({
    clientName,
    withRequest,
    statePath: store.file.path,
    requestedName: nameIn(input),
    textOf
  });
  return [
    defineTool({
      name: 'start_council',
      title: 'Start a council',
      description:
        'Opens a council: agents of any client on this machine answer your request together. It replaces an open one, which is kept.',
      input: z.strictObject({
        request: longText.describe('With all they need to know'),
        ...nameInput
      }),
      annotations: acting,
      textFor,
      handle: async (input, context) =>
        startedAnswer(
          await council.start(nameIn(input), input.request),
          optionsOf(input, context, false)
        )
    }),
    defineTool({
      name: 'join_council',
      title: 'Join the council',
      description:
        'Takes part in the council: gives its request and responses.',
      input: z.strictObject({ ...nameInput }),
      annotations: joining,
      textFor,
      handle: async (input, context) =>
        answerOf(
          await council.join(
            nameIn(input),
            viewFormatter(optionsOf(input, context, true))
          ),
          context
        )
    }),
    defineTool({
      name: 'get_current_session_data',
      title: 'Read the council',
      description:
        'The responses after cursor, at once; without one, request and responses. more: call again with next_cursor.',
      input: z.strictObject({ ...nameInput, cursor }),
      annotations: joining,
      textFor,
      handle: async (input, context) =>
        answerOf(
          await council.read(
            nameIn(input),
            input.cursor || null,
            viewFormatter(optionsOf(input, context, !input.cursor))
          ),
          context
        )
    }),
    defineTool({
      name: 'wait_for_responses',
      title: 'Wait for responses',
      description:
        'Waits until another responds or the council is closed. Call it again until status is "closed" or you have heard enough.',
      input: z.strictObject({
        ...nameInput,
        cursor,
        timeout: z
          .number()
          .min(0)
          .max(604_800)
          .default(defaultSeconds)
          .describe('Seconds')
      }),
      annotations: joining,
      textFor,
      handle: async (input, context) => {
        const { waitSeconds } = limitsOf(context.clientName);
        const seconds = Math.min(input.timeout, waitSeconds);
        const { isTimeout, ...answer } = await waitForResponses(
          council,
          store,
          {
            agentName: nameIn(input),
            cursor: input.cursor || null,
            timeoutMs: 1000 * seconds,
            signal: context.signal,
            onWait: ({ participants, session }) =>
              context.progress(
                0,
                1,
                `council ${session.id}: ${participants.length} take part; waits up to ${seconds} s for a response`
              )
          },
          viewFormatter(optionsOf(input, context, false))
        );
        const facts = answerOf(answer, context);
        return isTimeout
          ? { ...facts, timed_out: true, ...withNothingNew(facts) }
          : facts;
      }
    }),
    defineTool({
      name: 'send_response',
      title: 'Respond',
      description: 'Records your response for all to read. May be repeated.',
      input: z.strictObject({ ...nameInput, content: longText }),
      annotations: acting,
      textFor,
      handle: async (input) =>
        sentAnswer(
          await council.send(nameIn(input), input.content),
          nameIn(input)
        )
    }),
    summonTool(host, textFor),
    defineTool({
      name: 'close_council',
      title: 'Close the council',
      description: 'Ends the council; all receive your conclusion.',
      input: z.strictObject({ ...nameInput, conclusion: longText }),
      annotations: acting,
      textFor,
      handle: async (input, context) =>
        closedAnswer(
          await council.close(nameIn(input), input.conclusion),
          optionsOf(input, context, false)
        )
    })
  ].map((tool) => hinted(tool, councilHints));
}

const councilHints: Hints = {
  no_council: 'Call start_council with your request.',
  council_closed:
    'Nothing was recorded. get_current_session_data has its conclusion; start_council begins another.',
  session_replaced:
    'Nothing was recorded. Call join_council to read that request and take part; the earlier council is kept in history/.'
};

/** Starts an agent that responds once. */
function summonTool(host: Host, textFor: () => TextOf | undefined): Tool {
  const { agentName } = host.config.councilDoor ?? {};
  const named: { agent_name?: z.ZodOptional<z.ZodString> } =
    agentName === undefined
      ? {
          agent_name: councilName().optional().describe('Default: the engine')
        }
      : {};
  return defineTool({
    name: 'summon_agent',
    title: 'Summon an agent',
    description:
      'Has an engine answer the request of the council in the background, read-only. Its final text becomes its response; if it fails, your next answers say so.',
    input: z.strictObject({
      engine: z.string().min(1).max(64).describe('Such as "claude"'),
      ...named,
      model
    }),
    annotations: asking,
    textFor,
    handle: async ({ engine, agent_name, model }, { caller }) => {
      const { agentId, agentName, session, status, failure } =
        await host.summon({
          engine,
          agentName: agent_name === undefined ? undefined : String(agent_name),
          model,
          caller
        });
      return {
        agent_id: agentId,
        agent_name: agentName,
        session_id: session.id,
        status,
        ...(failure
          ? { error: failure.message, error_code: failure.code }
          : messageField(
              'Its response comes to all: go on, or wait_for_responses.',
              ...host.configNotices
            ))
      };
    }
  });
}

function councilName() {
  return z.string().trim().min(1).max(200);
}

/** Marks the content of an answer as read once the client has received it. */
function answerOf(
  { answer, markRead }: FormattedView<Facts>,
  { afterAnswer }: ToolContext
): Facts {
  afterAnswer(markRead);
  return answer;
}

function withNothingNew({ message }: Facts): Facts {
  const nothingNew = 'Nothing new since then; nothing is lost.';
  return typeof message === 'string'
    ? messageField(message, nothingNew)
    : messageField(nothingNew);
}

interface Named {
  /** A string by the schema; absent if the server has an agent name. */
  agent_name?: unknown;
}
