import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { errnoOf, HostError } from '../../../core/errors.ts';
import { NotRegular } from '../../../core/state/files/regular-file.ts';
import { logProblem } from '../../../host/log.ts';

/** Request handlers, by method of the protocol. */
export type Handlers = Record<
  string,
  (params: unknown) => Promise<Record<string, unknown>>
>;

/** A longer URI is left out of the error. */
const mostUriChars = 1000;

export class ProtocolError extends Error {
  readonly code: number;
  readonly data: { uri: string } | undefined;

  constructor(code: number, message: string, uri?: string) {
    super(message);
    this.name = 'ProtocolError';
    this.code = code;
    const hasData = uri !== undefined && uri.length <= mostUriChars;
    this.data = hasData ? { uri } : undefined;
  }
}

export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(-32602, message);
}

export function unknownMethod(): ProtocolError {
  return new ProtocolError(-32601, 'Method not found');
}

/**
 * Rejects any cursor: every list has one page.
 * @throws ProtocolError if the request has a cursor
 */
export function refuseCursor(params: unknown): void {
  const cursor = Object(params).cursor;
  if (cursor === undefined) return;
  // Anything else may be nested too deeply to be written as text.
  const shown =
    typeof cursor === 'string' ? ` ${JSON.stringify(shortened(cursor))}` : '';
  throw invalidParams(
    `Unknown cursor${shown}: the list has one page. Ask without a cursor.`
  );
}

/** Cuts a value of the caller to the length for an error message. */
export function shortened(word: string): string {
  return word.length > 60 ? `${word.slice(0, 60)}…` : word;
}

/**
 * Converts any error to a ProtocolError. The client gets the details of errors
 * that the caller can repair; other errors are logged to stderr.
 */
export async function withProtocolErrors<Result>(
  work: () => Promise<Result>
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (error instanceof HostError)
      throw new ProtocolError(-32603, `${error.message} ${error.hint}`);
    if (error instanceof NotRegular)
      throw new ProtocolError(-32603, `${error.message}. Move it away.`);
    logProblem(error);
    const code = errnoOf(error);
    throw new ProtocolError(
      -32603,
      code === undefined
        ? 'Something went wrong inside troupe. Look at the server log (stderr).'
        : `A file cannot be read (${code}). Check owner and permissions of ~/.troupe and of logs/ in the workspace.`
    );
  }
}

/** What a request of revision 2026-07-28 has in addition to its parameters. */
export interface RequestInput {
  /** The capabilities of the client, for this request. */
  capabilities: Record<string, unknown>;
  /** `inputResponses`: what a first try of this request asked for. */
  responses: Record<string, unknown>;
  /** `requestState` of the first try, which the client cannot have changed. */
  state?: string;
}

/** A form of `elicitation/create`. */
export interface Form {
  message: string;
  requestedSchema: Record<string, unknown>;
}

/** Whether a client shows forms to its user. */
export function hasForms({ elicitation }: { elicitation?: unknown }): boolean {
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  // Without a mode, forms are meant.
  return (
    Object.hasOwn(elicitation, 'form') || !Object.hasOwn(elicitation, 'url')
  );
}

/** A transport that reports when an answer has been sent. */
export interface AnswerTransport extends Transport {
  /** Undefined for a request of an older revision. */
  inputOf?: (id: RequestId) => RequestInput | undefined;
  /**
   * Registers work to run once the answer to a request has been written to its
   * connection. The work never runs if that fails. Call it just before `send`.
   */
  afterAnswer: (id: RequestId, work: () => void) => void;
  /** Whether the client would receive a notification outside of a request. */
  readonly canNotify: boolean;
}

/** The id of the request that a message answers, if it is an answer. */
export function answeredBy(message: object): RequestId | undefined {
  if (!('id' in message) || 'method' in message) return undefined;
  const { id } = message;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
