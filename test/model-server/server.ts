import type {
  IncomingHttpHeaders,
  IncomingMessage,
  ServerResponse
} from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Action, Turn } from './actions.ts';
import { directives, isToolAction } from './actions.ts';
import type { Answer } from './answer.ts';
import { sendJson } from './answer.ts';
import type { Api } from './apis.ts';
import { apiOf, aside } from './apis.ts';
import { record } from './json.ts';

export type { Action, Turn } from './actions.ts';

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Parsed JSON, or the text when it is none. */
  body: unknown;
}

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  url: string;
  /** Every request so far, in order of arrival; grows while it runs. */
  requests: RecordedRequest[];
  close(): Promise<void>;
}

/**
 * Starts a model on loopback that follows orders: the directives in a prompt (see `directives`), or what `script` returns for the turn. A prompt
 * without either is answered "ok".
 *
 * A tool call ends a request; the next action runs when its result is back.
 * A count ("answer 429 twice") holds per conversation and prompt.
 */
export async function startModelServer(
  options: { script?: (turn: Turn) => Action[] | undefined } = {}
): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const failuresSent = new Map<string, number>();
  let turns = 0;

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse
  ): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const headers = request.headers;
    const body = parsed(await bodyOf(request));
    requests.push({
      method: request.method ?? '',
      path: request.url ?? '',
      headers,
      body
    });
    const answered = aside(pathname, body);
    if (answered) return sendJson(response, 200, answered);
    const api = apiOf(pathname);
    if (request.method !== 'POST' || api === undefined) {
      // 426 makes Codex, which asks for a WebSocket first, do without one.
      const status = api === undefined ? 404 : 426;
      const error = { message: `Nothing here: ${request.method} ${pathname}` };
      return sendJson(response, status, { error });
    }
    const turn = api.readTurn(record(body), turns, pathname);
    turns += 1;
    const actions = options.script?.(turn) ?? directives(turn.prompt);
    const conversation =
      headers['x-claude-code-session-id'] ?? headers['session-id'];
    await perform(
      actions.length === 0 ? [{ do: 'say', text: 'ok' }] : actions,
      turn,
      api.answer(response, record(body), pathname),
      {
        toolCall: api.toolCall,
        drop: () => response.destroy(),
        isDue(index, times = Infinity) {
          const key = JSON.stringify([conversation, turn.prompt, index]);
          const count = (failuresSent.get(key) ?? 0) + 1;
          failuresSent.set(key, count);
          return count <= times;
        }
      }
    );
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error) } });
    });
  });
  // A test that hangs on purpose must not be cut off by us.
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${port(server.address())}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      })
  };
}

interface Stage {
  toolCall: Api['toolCall'];
  drop: () => void;
  /** False once the action at this index has happened `times` times. */
  isDue: (index: number, times: number | undefined) => boolean;
}

async function perform(
  actions: Action[],
  turn: Turn,
  answer: Answer,
  stage: Stage
): Promise<void> {
  const tokens = { input: 10, output: 5, cached: 0 };
  let toolsDone = turn.toolResults.length;
  for (const [index, action] of actions.entries()) {
    if (action.do === 'usage') {
      tokens.input = action.input;
      tokens.output = action.output;
      tokens.cached = action.cached || 0;
      continue;
    }
    if (isToolAction(action)) {
      toolsDone -= 1;
      if (toolsDone >= 0) continue;
      answer.call(stage.toolCall(action, turn));
      return answer.end('tool', tokens);
    }
    // Steps before a tool that has run already belong to the past.
    if (toolsDone > 0 && actions.slice(index).some(isToolAction)) continue;
    switch (action.do) {
      case 'say':
        answer.text(action.text);
        break;
      case 'sleep':
        await wait(action.ms);
        break;
      case 'status':
        if (stage.isDue(index, action.times)) {
          return answer.fail(
            action.status,
            action.message ?? `Scripted status ${action.status}`,
            action.headers ?? {}
          );
        }
        break;
      case 'hang':
        return;
      case 'drop':
        if (!stage.isDue(index, action.times)) break;
        // Let what was said reach the other side first.
        await wait(50);
        return stage.drop();
      case 'stop':
        if (!stage.isDue(index, action.times)) break;
        return answer.end(action.reason, tokens);
    }
  }
  answer.end('end', tokens);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function port(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') {
    throw new Error('The model server has no TCP address.');
  }
  return address.port;
}
