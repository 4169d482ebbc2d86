import type { z } from 'zod';
import { errnoOf, HostError, limitError } from '../../core/errors.ts';
import { log } from '../../log.ts';
import { publishedSchema } from './published-schema.ts';
import { shapeSchema } from './shape-schema.ts';

export interface ToolContext {
  /** Aborted when the client no longer wants the answer. */
  signal: AbortSignal;
  /** `clientInfo.name` of the client. */
  clientName: string;
  /** Tells the client how far a long call is; no-op when it did not ask. */
  progress: (done: number, total: number, message: string) => void;
  /** Throws a HostError when the tool may not even begin. */
  admit?: () => void;
}

export interface ToolAnnotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/**
 * A tool as data: what a client is told, and what we do. It declares no form
 * of its answer: every word costs each client's context, and answers explain
 * themselves.
 */
export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: Record<string, unknown>;
  annotations: ToolAnnotations;
  _meta?: Record<string, unknown>;
  call: (input: unknown, context: ToolContext) => Promise<ToolAnswer>;
}

export interface ToolAnswer {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: boolean;
  [key: string]: unknown;
}

export type TextOf = (facts: Record<string, unknown>) => string;

interface ToolParts<Shape extends z.ZodRawShape> {
  name: string;
  title: string;
  description: string;
  input: z.ZodObject<Shape, z.core.$strict>;
  annotations: ToolAnnotations;
  _meta?: Record<string, unknown>;
  /** How an answer reads as text; default: as JSON. */
  textOf?: TextOf | undefined;
  handle: (
    input: z.output<z.ZodObject<Shape, z.core.$strict>>,
    context: ToolContext
  ) => Promise<Record<string, unknown>>;
}

/**
 * Makes a tool. Wrong input and `HostError`s become an error answer with a
 * stable code; anything else that flies is a bug of ours: it gets a fixed
 * text, and the details go to stderr.
 */
export function defineTool<Shape extends z.ZodRawShape>(
  parts: ToolParts<Shape>
): Tool {
  const { input, handle, textOf, ...rest } = parts;
  return {
    ...rest,
    inputSchema: jsonSchema(input),
    call: async (value, context) => {
      try {
        context.admit?.();
        return answer(await handle(parseInput(parts, value), context), textOf);
      } catch (error) {
        return errorAnswer(error, parts.name, textOf);
      }
    }
  };
}

/** The whole answer in both places: clients differ in which they show. */
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
  textOf?: TextOf
): ToolAnswer {
  const { code, message, hint, quoted } =
    error instanceof HostError
      ? error
      : (limitError(error) ?? unexpected(error, tool));
  return {
    ...answer({ error_code: code, error: message, hint, ...quoted }, textOf),
    isError: true
  };
}

/** A full disk is met anywhere, and is no fault of ours. */
function unexpected(error: unknown, tool: string): HostError {
  if (isFull(error))
    return new HostError(
      'storage_full',
      `The disk was full when ${tool} had to write.`,
      'Free some space and call again; agents that run go on, see list.'
    );
  log(
    `${tool} failed unexpectedly: ${error instanceof Error ? error.stack : String(error)}`
  );
  return new HostError(
    'internal',
    'Something went wrong inside troupe.',
    'Look at the server log (stderr); agents that run go on, see list.'
  );
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '');
}

function parseInput<Shape extends z.ZodRawShape>(
  { input, name }: ToolParts<Shape>,
  value: unknown
): z.output<z.ZodObject<Shape, z.core.$strict>> {
  const parsed = input.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const known = Object.keys(input.shape).join(', ') || 'none';
  const { issues } = parsed.error;
  const told = issues.slice(0, 5).map(describeIssue).join('; ');
  const more = issues.length > 5 ? `; and ${issues.length - 5} more` : '';
  throw new HostError(
    'invalid_input',
    `${name}: ${told}${more}.`,
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

/** A caller's own word, fit to stand in an error. */
export function shortened(word: string): string {
  return word.length > 60 ? `${word.slice(0, 60)}…` : word;
}

const made = new WeakMap<z.ZodType, Record<string, unknown>>();

/** Tools share shapes, and each shape is turned into a schema once. */
function jsonSchema(shape: z.ZodObject): Record<string, unknown> {
  const known = made.get(shape);
  if (known) return known;
  const schema = shapeSchema(shape) ?? publishedSchema(shape);
  made.set(shape, schema);
  return schema;
}
