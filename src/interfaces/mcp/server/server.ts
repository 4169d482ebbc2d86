import { setMaxListeners } from 'node:events';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  ResultSchema,
  type ServerCapabilities,
  type ServerNotification,
  type ServerRequest
} from '@modelcontextprotocol/sdk/types.js';
import { HostError } from '../../../core/errors.ts';
import { logProblem } from '../../../host/log.ts';
import { version } from '../../../host/package.ts';
import type { FormDoor } from '../answers/ask-forms.ts';
import {
  errorAnswer,
  type Tool,
  type ToolContext
} from '../tool/define-tool.ts';
import { refuseWrongParams } from '../transport/bad-message.ts';
import {
  type AnswerTransport,
  type Handlers,
  hasForms,
  refuseCursor,
  shortened,
  unknownMethod
} from '../transport/protocol.ts';
import { type Additions, callAdded } from './additions.ts';
import type { Life } from './lifecycle.ts';
import type { Offer, Prospect } from './offer.ts';

export interface ServeOptions {
  life: Life;
  instructions: string;
  prospect?: Prospect;
  /** Called for the first request, and again for the next if it fails. */
  offer: (server: Server) => Promise<Offer>;
  additions?: Additions | undefined;
  /** The session of this client, if several clients share the process. */
  session?: ClientSession;
}

interface ClientSession {
  /** Unique in this process, and not secret. */
  name: string;
  /** Whether the client of another session is still connected. */
  isConnected: (name: string) => boolean;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Serves tools, prompts and resources over one transport. */
export async function serve(
  options: ServeOptions,
  transport: AnswerTransport
): Promise<Server> {
  const { life, instructions, prospect, additions = {} } = options;
  const server = new Server(
    { name: 'troupe', title: 'troupe', version },
    { capabilities: declaredBy(options), instructions }
  );
  const added = byName(additions.tools ?? []);
  const connected = { ...options, toldAsks: new Set<string>() };
  let offered: ReturnType<typeof load> | undefined;
  const load = async () => {
    const { tools, host } = await options.offer(server);
    return { tools: byName(tools), host };
  };
  const current = () => {
    offered ??= load().catch((error: unknown) => {
      // The next call tries again.
      offered = undefined;
      throw error;
    });
    return offered;
  };
  /** The tools of the last list; undefined before the first. */
  let listed: number | undefined;
  const announceTools = (tools: Map<string, Tool>) => {
    const count = listedIn(tools).length + added.size;
    if (listed === undefined || listed === count) return;
    listed = count;
    if (transport.canNotify) server.sendToolListChanged().catch(logProblem);
  };
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    refuseCursor(params);
    const { tools } = await current();
    const all = [...listedIn(tools), ...added.values()];
    listed = all.length;
    // The SDK's type is narrower than JSON Schema.
    return { tools: all.map(({ call, ...facts }) => facts) as never };
  });
  const call = async (
    { name, arguments: input }: CallToolRequest['params'],
    extra: Extra
  ) => {
    const { tools } = await current();
    const tool = tools.get(name);
    if (tool) {
      const answer = callTool(tool, input, extra, server, connected, transport);
      return answer.finally(() => announceTools(tools));
    }
    const other = added.get(name);
    if (!other) return errorAnswer(unknownTool(name, tools), name);
    const more = transport.inputOf?.(extra.requestId);
    return callAdded(other, input, {
      ...extra,
      server,
      ...(more ? { input: more } : {})
    });
  };
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    life.track(call(params, extra))
  );
  if (prospect) {
    let handlers: Promise<Handlers> | undefined;
    const connection = {
      server,
      ending: life.ending,
      canNotify: () => transport.canNotify
    };
    const handle = async (method: string, params: unknown) => {
      if (!isOffered(method, prospect)) throw unknownMethod();
      handlers ??= import('./lazy-handlers.ts').then(({ lazyHandlers }) =>
        lazyHandlers(connection, async () => (await current()).host)
      );
      const handler = (await handlers)[method];
      if (!handler) throw unknownMethod();
      return handler(params);
    };
    server.fallbackRequestHandler = ({ method, params }) =>
      life.track(handle(method, params));
  }
  additions.prepare?.(server);
  server.oninitialized = () => void current();
  await server.connect(transport);
  refuseWrongParams(transport);
  return server;
}

/** The capabilities that a server declares to its clients. */
export function declaredBy({
  prospect,
  additions
}: Pick<ServeOptions, 'prospect' | 'additions'>): ServerCapabilities {
  return {
    tools: prospect?.laterTools ? { listChanged: true } : {},
    ...capabilitiesOf(prospect),
    ...additions?.capabilities
  };
}

async function callTool(
  tool: Tool,
  input: unknown,
  extra: Extra,
  server: Server,
  options: ServeOptions & Pick<ToolContext, 'toldAsks'>,
  transport: AnswerTransport
): Promise<CallToolResult> {
  const { life, session } = options;
  const client = server.getClientVersion()?.name ?? '';
  const callbacks: (() => void | Promise<void>)[] = [];
  const answer = await withAnySignal([extra.signal, life.ending], (signal) =>
    tool.call(input, {
      signal,
      clientName: client,
      caller: session ? { client, session: session.name } : { client },
      isThere: session?.isConnected ?? (() => false),
      toldAsks: options.toldAsks,
      forms: formsOf(extra, server, transport),
      afterAnswer: (work) => callbacks.push(work),
      progress: progressOf(extra)
    })
  );
  if (callbacks.length > 0 && !extra.signal.aborted && !answer.isError)
    transport.afterAnswer(extra.requestId, () => {
      for (const work of callbacks)
        life.track(Promise.resolve(work())).catch(logProblem);
    });
  return answer;
}

/** Later than any ask ends; longer timers do not exist. */
const longestMs = 2 ** 31 - 1;

function formsOf(
  { requestId, sendRequest }: Extra,
  server: Server,
  transport: AnswerTransport
): FormDoor | undefined {
  const input = transport.inputOf?.(requestId);
  if (input)
    return hasForms(input.capabilities)
      ? { filled: input.responses }
      : undefined;
  if (!hasForms(server.getClientCapabilities() ?? {})) return undefined;
  const timeout = longestMs;
  return {
    show: (params, signal) =>
      sendRequest(
        // Forms have only these types, as the client has checked.
        { method: 'elicitation/create', params: params as never },
        ResultSchema,
        { signal, timeout }
      )
  };
}

/** Notifies the client of progress, if the call has a progress token. */
function progressOf({ _meta, sendNotification }: Extra) {
  const progressToken = _meta?.progressToken;
  let last = -1;
  return (progress: number, total: number | undefined, message: string) => {
    // The protocol requires that progress increases with each notification.
    if (progressToken === undefined || progress <= last) return;
    last = progress;
    sendNotification({
      method: 'notifications/progress',
      params: {
        ...{ progressToken, progress, message },
        ...(total === undefined ? {} : { total })
      }
    }).catch(() => undefined);
  };
}

/**
 * Runs work with a signal that aborts as soon as one of several signals does.
 * `AbortSignal.any` leaks memory for each call while the longer-lived signal
 * exists (seen on Node 20).
 */
async function withAnySignal<Result>(
  signals: AbortSignal[],
  work: (signal: AbortSignal) => Promise<Result>
): Promise<Result> {
  const combined = new AbortController();
  const stop = () => combined.abort();
  // Every call adds a listener to the signal of the server.
  setMaxListeners(0, ...signals);
  for (const signal of signals)
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  try {
    return await work(combined.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}

function listedIn(tools: Map<string, Tool>): Tool[] {
  return [...tools.values()].filter(({ isListed }) => isListed?.() ?? true);
}

function byName<Named extends { name: string }>(
  tools: Named[]
): Map<string, Named> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function capabilitiesOf({ resources, prompts }: Prospect = none) {
  return {
    ...(resources ? { resources: { subscribe: true, listChanged: true } } : {}),
    ...(prompts ? { prompts: {} } : {}),
    ...(resources || prompts ? { completions: {} } : {})
  };
}

const none: Prospect = {
  resources: false,
  prompts: false,
  laterTools: false
};

/** Whether a declared capability covers this method. */
function isOffered(method: string, prospect: Prospect): boolean {
  const [family = ''] = method.split('/');
  const capability = family === 'completion' ? 'completions' : family;
  return Object.hasOwn(capabilitiesOf(prospect), capability);
}

function unknownTool(name: string, tools: Map<string, Tool>): HostError {
  return new HostError(
    'unknown_tool',
    `There is no tool "${shortened(name)}".`,
    `Tools: ${[...tools.keys()].join(', ')}.`
  );
}
