import { z } from 'zod';
import { type AskAnswer, isUnanswered } from '../../../core/asks/ask.ts';
import type { Asker, AskSettings } from '../../../core/asks/asker.ts';
import { isPlainReading, permissionOf } from '../../../core/asks/permission.ts';
import {
  acting,
  defineTool,
  type Tool,
  type ToolContext
} from '../tool/define-tool.ts';

/** The most characters of a question, a reason, or what is to be allowed. */
const mostChars = 8000;

/** The tool of this server, as programs with hooks name it. */
const ownTool = 'troupe-ask/ask_coordinator';

type Place = Omit<AskSettings, 'agentId' | 'engine' | 'rules'>;

/** The decision about one use of a tool, as programs read it. */
export async function decidePermission(
  asker: Asker,
  place: Place,
  tool: string,
  input: Record<string, unknown>,
  signal: AbortSignal,
  onWaiting?: (seconds: number) => void
): Promise<Record<string, unknown>> {
  const request = permissionOf(tool, input, place);
  // Some programs ask for what the access allows, too.
  const isAllowed =
    isPlainReading(tool, input, place) ||
    (place.access === 'write' && request.needs === 'write') ||
    tool === ownTool;
  if (isAllowed) return { behavior: 'allow', updatedInput: input };
  const length = Object.values(request.subject).join('').length;
  if (length > mostChars)
    return {
      behavior: 'deny',
      message: `The call has ${length} characters, too many to review. Make a shorter one, such as a call of a script.`
    };
  const answer = await asker.ask(request, signal, onWaiting);
  return answer.decision === 'allow'
    ? { behavior: 'allow', updatedInput: input }
    : { behavior: 'deny', message: denialOf(answer) };
}

/**
 * The tools of a run that asks. `permission` is for the program, which calls it
 * before it acts; `ask_coordinator` is for its model.
 */
export function askTools(asker: Asker, place: Place): Tool[] {
  const { seconds } = place;
  return [
    asText(
      defineTool({
        name: 'permission',
        title: 'Ask for permission',
        description: 'For the program, before it acts. Not for a model.',
        input: z.strictObject({
          tool_name: z.string().min(1),
          input: z.record(z.string(), z.unknown()),
          tool_use_id: z.string().optional()
        }),
        annotations: acting,
        handle: ({ tool_name, input }, { signal, progress }) =>
          decidePermission(
            asker,
            place,
            tool_name,
            input,
            signal,
            signsOfLife(progress, seconds)
          )
      })
    ),
    defineTool({
      name: 'ask_coordinator',
      title: 'Ask about your task',
      description:
        'Asks the agent or person that gave you this task one question, and waits for the answer. For what you cannot find out or decide yourself.',
      input: z.strictObject({
        question: z.string().regex(/\S/, 'is empty').max(mostChars),
        options: z.array(z.string().min(1).max(500)).max(20).optional(),
        context: z.string().max(mostChars).optional()
      }),
      annotations: acting,
      handle: async ({ question, options, context }, { signal, progress }) => {
        const answer = await asker
          .ask(
            {
              kind: 'question',
              tool: 'ask_coordinator',
              subject: { question },
              options,
              reason: context || undefined,
              needs: 'write'
            },
            signal,
            signsOfLife(progress, seconds)
          )
          .catch(() => undefined);
        return !answer || isUnanswered(answer) || answer.text === null
          ? {
              status: 'unanswered',
              advice:
                'No answer came. Decide yourself, and say in your result what you assumed.'
            }
          : { answer: answer.text, by: answer.by };
      }
    })
  ];
}

/** Counts its reports: elapsed time is no progress. */
function signsOfLife(
  progress: ToolContext['progress'],
  seconds: number
): (waited: number) => void {
  let count = 0;
  return (waited) => {
    count += 1;
    const message = `waiting for an answer: ${waited} of at most ${seconds} s`;
    progress(count, undefined, message);
  };
}

/** Programs read the decision from the text, and fail at anything beside it. */
function asText(tool: Tool): Tool {
  return {
    ...tool,
    call: async (input, context) => {
      const { structuredContent, ...answer } = await tool.call(input, context);
      return answer;
    }
  };
}

function denialOf({ by, text }: AskAnswer): string {
  const why = text === null ? '' : `: ${text}`;
  if (by === 'rule') return "Denied by a rule of the user's configuration.";
  if (by === 'coordinator' || by === 'person')
    return `Denied by the ${by}${why}`;
  return 'No answer came in time, so this is denied. Go on without it.';
}
