import { isUnanswered } from '../../core/asks/ask.ts';
import type { Asker } from '../../core/asks/asker.ts';
import { callText } from '../../core/asks/parking.ts';
import {
  decidePermission,
  mostChars,
  type Place
} from './permission-decision.ts';

type Fields = Record<string, unknown>;

/** What a call may use of its connection. */
export interface CallContext {
  /** Aborted when the client cancels the call or the bridge ends. */
  signal: AbortSignal;
  /** Sends a report of progress, if the call has a token for that. */
  progress: (done: number, message: string) => void;
}

/** A tool as data, as `tools/list` shows it. */
export interface AskTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { properties: Fields; [keyword: string]: unknown };
  annotations: Fields;
  call: (input: unknown, context: CallContext) => Promise<ToolResult>;
}

export interface ToolResult extends Fields {
  content: { type: 'text'; text: string }[];
  isError?: boolean;
}

const annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false
};

/** Checks one parameter; the text says what is wrong with it. */
type Check = (value: unknown) => string | undefined;

/**
 * The tools of a run that asks. `permission` is for the program, which calls it
 * before it acts; `ask_coordinator` is for its model.
 */
export function askTools(asker: Asker, place: Place): AskTool[] {
  const { seconds } = place;
  return [
    {
      name: 'permission',
      title: 'Ask for permission',
      description: 'For the program, before it acts. Not for a model.',
      inputSchema: schemaOf(
        {
          tool_name: { type: 'string' },
          input: { type: 'object' },
          tool_use_id: { type: 'string' }
        },
        ['tool_name', 'input']
      ),
      annotations,
      call: async (value, { signal, progress }) => {
        const input = Object(value);
        const wrong = wrongIn('permission', input, {
          tool_name: needed(textOf(1, mostChars)),
          input: needed(isRecord),
          tool_use_id: optional(textOf(0, mostChars))
        });
        if (wrong) return asText(wrong);
        const signs = signsOfLife(progress, seconds);
        const { tool_name: tool, input: given } = input;
        // Programs fail at anything besides the text.
        return asText(
          resultOf(
            await decidePermission(asker, place, tool, given, signal, signs)
          )
        );
      }
    },
    {
      name: 'ask_coordinator',
      title: 'Ask about your task',
      description:
        'Asks the agent or person that gave you this task one question, and waits for the answer. For what you cannot find out or decide yourself.',
      inputSchema: schemaOf(
        {
          question: { type: 'string' },
          options: { type: 'array', items: { type: 'string' } },
          context: { type: 'string' }
        },
        ['question']
      ),
      annotations,
      call: async (value, { signal, progress }) => {
        const input = Object(value);
        const wrong = wrongIn('ask_coordinator', input, {
          question: needed(filled),
          options: optional(isOptions),
          context: optional(textOf(0, mostChars))
        });
        if (wrong) return wrong;
        const { question, options, context } = input;
        const answer = await asker
          .ask(
            {
              kind: 'question',
              tool: 'ask_coordinator',
              subject: { question },
              options,
              reason: context || undefined,
              needs: 'write',
              call: callText('ask_coordinator', { question, options })
            },
            signal,
            signsOfLife(progress, seconds)
          )
          .catch(() => undefined);
        return resultOf(
          !answer || isUnanswered(answer) || answer.text === null
            ? {
                status: 'unanswered',
                advice:
                  'No answer came. Decide yourself, and say in your result what you assumed.'
              }
            : { answer: answer.text, by: answer.by }
        );
      }
    }
  ];
}

/** Counts its reports: elapsed time is no progress. */
function signsOfLife(
  progress: CallContext['progress'],
  seconds: number
): (waited: number) => void {
  let count = 0;
  return (waited) => {
    count += 1;
    progress(count, `waiting for an answer: ${waited} of at most ${seconds} s`);
  };
}

function schemaOf(properties: Fields, required: string[]) {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The whole answer in both fields: clients differ in which one they show. */
function resultOf(facts: Fields): ToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(facts) }],
    structuredContent: facts
  };
}

function asText({ structuredContent, ...result }: ToolResult): ToolResult {
  return result;
}

/** An answer to a call that cannot be made, with what the caller can do. */
export function refusal(code: string, error: string, hint: string): ToolResult {
  return { ...resultOf({ error_code: code, error, hint }), isError: true };
}

/** Undefined for valid input. */
function wrongIn(
  tool: string,
  input: Fields,
  checks: Record<string, Check>
): ToolResult | undefined {
  const problems = Object.entries(checks).flatMap(([name, check]) => {
    const problem = check(input[name]);
    return problem === undefined ? [] : [`"${name}": ${problem}`];
  });
  for (const name of Object.keys(input))
    if (!Object.hasOwn(checks, name))
      problems.push(`unknown parameter "${name.slice(0, 60)}"`);
  return problems.length === 0
    ? undefined
    : refusal(
        'invalid_input',
        `${tool}: ${problems.slice(0, 5).join('; ')}.`,
        `Parameters of ${tool}: ${Object.keys(checks).join(', ')}.`
      );
}

function needed(check: Check): Check {
  return (value) => (value === undefined ? 'is missing' : check(value));
}

function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value));
}

function textOf(least: number, most: number): Check {
  return (value) => {
    if (typeof value !== 'string') return 'must be text';
    if (value.length < least) return 'is empty';
    return value.length > most ? `has more than ${most} characters` : undefined;
  };
}

function filled(value: unknown): string | undefined {
  const isBlank = typeof value === 'string' && value.trim() === '';
  return isBlank ? 'is empty' : textOf(1, mostChars)(value);
}

const mostOptions = 20;
const mostOptionChars = 500;

function isOptions(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be a list';
  if (value.length > mostOptions) return `has more than ${mostOptions} entries`;
  return value.map(textOf(1, mostOptionChars)).find(Boolean);
}

function isRecord(value: unknown): string | undefined {
  const isObject =
    typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? undefined : 'must be an object';
}
