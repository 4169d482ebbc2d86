import type {
  JSONRPCRequest,
  RequestId,
  ServerCapabilities
} from '@modelcontextprotocol/sdk/types.js';
import { logProblem } from '../../../host/log.ts';
import { version } from '../../../host/package.ts';
import type { Answer, Bridged, Exchange, Params } from './bridge.ts';
import type { Caller, ClientInfo } from './caller.ts';
import { envelopeOf, serverInfoKey, subscriptionIdKey } from './envelope.ts';
import { inputIn, missingIn } from './input-requests.ts';
import { sealed } from './request-state.ts';
import { ModernError, supportedRevisions } from './revision.ts';

interface ModernOptions {
  instructions: string;
  capabilities: ServerCapabilities;
  /** @throws ModernError if there is no room for one more caller */
  callerOf: (client: ClientInfo) => Promise<Caller>;
  /** Called for a client that asks what is served: its calls come next. */
  onDiscover?: (client: ClientInfo) => void;
}

/** The response to one request. */
export interface Reply extends Bridged {
  /** The status of the HTTP response. */
  status: number;
}

/** How long a client may use an answer again, in milliseconds. */
const freshForMs: Record<string, number> = {
  'server/discover': 60_000,
  'tools/list': 60_000,
  'prompts/list': 60_000,
  'resources/templates/list': 60_000,
  'resources/list': 0,
  'resources/read': 0
};

/** Methods that older revisions have, too. */
const passedOn = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete'
];

/**
 * Answers the requests of revision 2026-07-28, each of which stands alone: it
 * names its revision and its client. The rest is the same as in the older
 * revisions, and is passed on to a server of these.
 */
export class ModernServer {
  readonly #options: ModernOptions;

  constructor(options: ModernOptions) {
    this.#options = options;
  }

  /** @returns undefined if the client canceled the request */
  async handle(
    request: JSONRPCRequest,
    exchange: Exchange
  ): Promise<Reply | undefined> {
    try {
      const bridged = await this.#answer(request, exchange);
      return bridged && { status: 200, ...bridged };
    } catch (error) {
      const { code, message, status, data } =
        error instanceof ModernError ? error : unexpected(error);
      const details = data === undefined ? {} : { data };
      return {
        status,
        answer: { error: { code, message, ...details } },
        work: []
      };
    }
  }

  async #answer(
    { id, method, params = {} }: JSONRPCRequest,
    exchange: Exchange
  ): Promise<Bridged | undefined> {
    const { client, capabilities, meta } = envelopeOf(params);
    if (method === 'server/discover') {
      this.#options.onDiscover?.(client);
      return complete(method, this.#discover());
    }
    const isListening = method === 'subscriptions/listen';
    if (!isListening && !passedOn.includes(method)) throw unknownMethod();
    const { name } = params;
    const named = typeof name === 'string' ? name : '';
    const scope = JSON.stringify([client.name, method, named]);
    const input = inputIn(params, capabilities, scope);
    const caller = await this.#options.callerOf(client);
    const release = caller.hold();
    try {
      if (isListening) return await listen(caller, id, params, exchange);
      const { inputResponses, requestState, ...rest } = params;
      const passed = { ...rest, _meta: meta };
      const { bridge } = caller;
      const bridged = await bridge.request(method, passed, exchange, input);
      return bridged && completed(method, bridged, capabilities, scope);
    } finally {
      release();
    }
  }

  #discover() {
    const { capabilities, instructions } = this.#options;
    // Logging is on stderr.
    const { logging, tasks, ...declared } = capabilities;
    return {
      supportedVersions: supportedRevisions,
      capabilities: declared,
      instructions
    };
  }
}

/** Reports changes until the client or the server ends the stream. */
async function listen(
  { listeners, ending }: Caller,
  id: RequestId,
  params: Params,
  exchange: Exchange
): Promise<Bridged | undefined> {
  const hasEnded = await listeners.listen(id, params, exchange, ending);
  const _meta = { [subscriptionIdKey]: id };
  return hasEnded ? complete('subscriptions/listen', { _meta }) : undefined;
}

/** The answer of an older server, as this revision has it. */
function completed(
  method: string,
  { answer, work }: Bridged,
  capabilities: Params,
  scope: string
): Bridged {
  if ('error' in answer)
    return { answer: { error: modernError(answer.error) }, work };
  const { result } = answer;
  return result.resultType === 'input_required'
    ? { ...inputRequired(result, capabilities, scope), work }
    : { ...complete(method, result), work };
}

/** Adds what each result of this revision has. */
function complete(
  method: string,
  result: Record<string, unknown>
): Pick<Bridged, 'answer' | 'work'> {
  const ttlMs = freshForMs[method];
  const fresh = ttlMs === undefined ? {} : { ttlMs, cacheScope: 'private' };
  const _meta = identified(result._meta);
  const all = { resultType: 'complete', ...result, ...fresh, _meta };
  return { answer: { result: all }, work: [] };
}

/**
 * A result that asks the client for more.
 * @throws ModernError if the client has not declared that it can give it
 */
function inputRequired(
  { inputRequests, requestState, _meta }: Params,
  capabilities: Params,
  scope: string
): Pick<Bridged, 'answer' | 'work'> {
  const requiredCapabilities = missingIn(inputRequests, capabilities);
  if (requiredCapabilities)
    throw new ModernError(
      -32021,
      'The client lacks a capability that this request needs.',
      400,
      { requiredCapabilities }
    );
  const result = {
    resultType: 'input_required',
    ...(inputRequests ? { inputRequests } : {}),
    ...(typeof requestState === 'string'
      ? { requestState: sealed(requestState, scope) }
      : {}),
    _meta: identified(_meta)
  };
  return { answer: { result }, work: [] };
}

function identified(meta: unknown): Params {
  const own = { name: 'troupe', title: 'troupe', version };
  return { ...Object(meta), [serverInfoKey]: own };
}

type ErrorOf = Extract<Answer, { error: unknown }>['error'];

/** The older code for an unknown resource is not used any more. */
function modernError(error: ErrorOf): ErrorOf {
  if (error.code === -32601) throw unknownMethod();
  return error.code === -32002 ? { ...error, code: -32602 } : error;
}

function unexpected(error: unknown): ModernError {
  logProblem(error);
  return new ModernError(
    -32603,
    'Something went wrong inside troupe. Look at the server log (stderr).',
    500
  );
}

function unknownMethod(): ModernError {
  return new ModernError(-32601, 'Method not found', 404);
}
