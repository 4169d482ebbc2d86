import type { z } from 'zod';
import {
  diskError,
  HostError,
  type HostErrorCode,
  limitError
} from '../../../core/errors.ts';
import type { Asker } from '../../../core/runs/admission/scope.ts';
import type { Caller } from '../../../core/runs/run.ts';
import { log } from '../../../host/log.ts';
import { type FormDoor, InputRequired } from '../answers/ask-forms.ts';
import { shortened } from '../transport/protocol.ts';
import { inputSchemaOf } from './input-schema.ts';

export interface ToolContext extends Asker {
  /** Aborted when the client cancels the call or the server ends. */
  signal: AbortSignal;
  /** The client's `clientInfo.name`. */
  clientName: string;
  /** The client as it is stored in the record of an agent. */
  caller: Caller;
  /** Ids of the asks that this connection has received. */
  toldAsks: Set<string>;
  /** Undefined for a client that shows no forms. */
  forms?: FormDoor | undefined;
  /**
   * Notifies the client of progress, if the call has a progress token, and only
   * if `done` has grown. Without `total`, it is no more than a sign of life.
   */
  progress: (done: number, total: number | undefined, message: string) => void;
  /**
   * Registers work to run once the answer has been written to the client's
   * connection. The work never runs if that fails or the answer is an error.
   */
  afterAnswer: (work: () => void | Promise<void>) => void;
  /** Throws a HostError if the tool must not start. */
  admit?: () => void;
  /** Hints that name tools; they replace the hints of the core. */
  hints?: Hints;
}

export type Hints = Partial<Record<HostErrorCode, string>>;

interface ToolAnnotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Annotations of a tool that changes nothing. */
export const looking = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false
};

/** Like `looking`, for answers that contain text of agents. */
export const reading = { ...looking, openWorldHint: true };

/** Annotations of a tool that adds something. */
export const acting = {
  ...looking,
  readOnlyHint: false,
  idempotentHint: false
};

/** Annotations of a tool that asks an engine, which changes no files. */
export const asking = { ...acting, openWorldHint: true };

/** Annotations of a tool that starts an agent, which may change files. */
export const starting = { ...asking, destructiveHint: true };

/** Whether a call of this tool starts agents or asks engines. */
export function startsAgents({ annotations }: Tool): boolean {
  return annotations === asking || annotations === starting;
}

/** Annotations of a tool that stops something. */
export const ending = {
  ...acting,
  destructiveHint: true,
  idempotentHint: true
};

/**
 * A tool as data. It declares no output schema: each word of a schema takes up
 * context of every client, and answers are self-explanatory.
 */
export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: Record<string, unknown>;
  annotations: ToolAnnotations;
  _meta?: Record<string, unknown>;
  /** False while `tools/list` leaves the tool out, which can be called anyway. */
  isListed?: () => boolean;
  call: (input: unknown, context: ToolContext) => Promise<ToolAnswer>;
}

interface ToolAnswer {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  [key: string]: unknown;
}

/** Renders an answer as text. */
export type TextOf = (facts: Record<string, unknown>) => string;

type Input<Shape extends z.ZodRawShape> = z.ZodObject<Shape, z.core.$strict>;

interface ToolParts<Shape extends z.ZodRawShape>
  extends Omit<Tool, 'inputSchema' | 'call'> {
  input: Input<Shape>;
  /** The answer as text, for a client of this name; undefined: JSON. */
  textFor?: (clientName: string) => TextOf | undefined;
  handle: (
    input: z.output<Input<Shape>>,
    context: ToolContext
  ) => Promise<Record<string, unknown>>;
}

/**
 * Makes a tool. Invalid input and a HostError become an error answer with a
 * stable code. Any other error is a bug: the answer has a fixed text, and the
 * details go to stderr.
 */
export function defineTool<Shape extends z.ZodRawShape>(
  parts: ToolParts<Shape>
): Tool {
  const { input, handle, textFor, ...rest } = parts;
  return {
    ...rest,
    inputSchema: inputSchemaOf(input),
    call: async (value, context) => {
      const textOf = textFor?.(context.clientName);
      try {
        context.admit?.();
        return answer(await handle(parseInput(parts, value), context), textOf);
      } catch (error) {
        if (error instanceof InputRequired)
          return {
            content: [],
            resultType: 'input_required',
            inputRequests: error.requests
          };
        return errorAnswer(error, parts.name, textOf, context.hints);
      }
    }
  };
}

/** @param admit throws a HostError if the tool must not start */
export function admitted(tool: Tool, admit: () => void): Tool {
  return {
    ...tool,
    call: (input, context) => tool.call(input, { ...context, admit })
  };
}

/** @param prepare runs before each call */
export function prepared(
  tool: Tool,
  prepare: () => Promise<void> | undefined
): Tool {
  return {
    ...tool,
    call: async (input, context) => {
      const work = prepare();
      if (work) await work;
      return tool.call(input, context);
    }
  };
}

/** @param hints replace the hints of the core for these error codes */
export function hinted(tool: Tool, hints: Hints): Tool {
  return {
    ...tool,
    call: (input, context) => tool.call(input, { ...context, hints })
  };
}

/** The whole answer in both fields: clients differ in which one they show. */
function answer(
  facts: Record<string, unknown>,
  textOf: TextOf = JSON.stringify
): ToolAnswer {
  return {
    content: [{ type: 'text', text: textOf(facts) }],
    structuredContent: facts
  };
}

export function errorAnswer(
  error: unknown,
  tool: string,
  textOf?: TextOf,
  hints: Hints = {}
): ToolAnswer {
  const {
    code,
    message,
    hint: defaultHint,
    quoted
  } = error instanceof HostError
    ? error
    : (limitError(error) ?? diskError(error, tool) ?? unexpected(error, tool));
  const hint = hints[code] ?? defaultHint;
  return {
    ...answer({ error_code: code, error: message, hint, ...quoted }, textOf),
    isError: true
  };
}

/** Logs the error. */
function unexpected(error: unknown, tool: string): HostError {
  log(
    `${tool} failed unexpectedly: ${error instanceof Error ? error.stack : String(error)}`
  );
  return new HostError(
    'internal',
    'Something went wrong inside troupe.',
    'Look at the server log (stderr); running agents continue.'
  );
}

function parseInput<Shape extends z.ZodRawShape>(
  { input, name }: ToolParts<Shape>,
  value: unknown
): z.output<Input<Shape>> {
  const parsed = input.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const known = Object.keys(input.shape).join(', ') || 'none';
  const { issues } = parsed.error;
  const listed = issues.slice(0, 5).map(describeIssue).join('; ');
  const more = issues.length > 5 ? `; and ${issues.length - 5} more` : '';
  throw new HostError(
    'invalid_input',
    `${name}: ${listed}${more}.`,
    `Parameters of ${name}: ${known}.`
  );
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = shortened(issue.path.map(String).join('.'));
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys
      .slice(0, 10)
      .map((key) => `"${shortened(key)}"`)
      .join(', ');
    return `unknown parameter ${names}${path === '' ? '' : ` in ${path}`}`;
  }
  return path === '' ? issue.message : `"${path}": ${issue.message}`;
}
