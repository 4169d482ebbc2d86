import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { record } from '../model-server/json.ts';
import { fails, type ProviderAnswer, says, sends } from './answers.ts';
import { type ApiName, type Asked, readAsked } from './asked.ts';

/** A provider on loopback that answers as the real one, or as planned. */
export interface ProviderFake {
  /** `http://127.0.0.1:PORT`, as a user would write it. */
  url: string;
  key: string;
  /** Every request so far, in order of arrival; grows while it runs. */
  requests: Asked[];
  /**
   * How requests with this prompt are answered, one after the other; the last
   * answer stays. Any other prompt is answered "ok".
   */
  plan: (prompt: string, ...answers: ProviderAnswer[]) => void;
  /** The requests with this prompt. */
  asked: (prompt: string) => Asked[];
  close: () => Promise<void>;
}

/** The one address at which each provider answers. */
const addresses: Record<ApiName, RegExp> = {
  grok: /^\/v1\/responses$/,
  openai: /^\/v1\/responses$/,
  mistral: /^\/v1\/chat\/completions$/,
  'claude-api': /^\/v1\/messages$/,
  gemini:
    /^\/v1beta\/models\/[\w.-]+:(generateContent|streamGenerateContent\?alt=sse)$/
};

/** How each calls the id that its support asks for; Google gives none. */
const requestIdNames: Partial<Record<ApiName, string>> = {
  grok: 'x-request-id',
  openai: 'x-request-id',
  mistral: 'x-kong-request-id',
  'claude-api': 'request-id'
};

export async function startProviderFake(
  engine: ApiName,
  key = `test-key-of-${engine}`
): Promise<ProviderFake> {
  const requests: Asked[] = [];
  const plans = new Map<string, ProviderAnswer[]>();

  const answerTo = (asked: Asked): ProviderAnswer => {
    if (!addresses[engine].test(asked.path))
      return sends(404, 'not found', 'text/plain');
    if (asked.key !== key) return fails('key');
    const planned = plans.get(asked.prompt) ?? [];
    const next = planned.length > 1 ? planned.shift() : planned[0];
    return next ?? says('ok');
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/';
    const body = record(JSON.parse(await textOf(request)));
    const asked = readAsked(engine, path, request.headers, body);
    requests.push(asked);
    response.once('close', () => {
      asked.abandoned = !response.writableEnded;
    });
    const idName = requestIdNames[engine];
    if (idName) response.setHeader(idName, `request-${requests.length}`);
    await answerTo(asked)({ engine, asked, response });
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      response.writeHead(400, { 'content-type': 'text/plain' });
      response.end(String(error));
    });
  });
  // A request that hangs on purpose must not be cut off by us.
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    key,
    requests,
    plan: (prompt, ...answers) => {
      plans.set(prompt, answers);
    },
    asked: (prompt) => requests.filter((asked) => asked.prompt === prompt),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      })
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string')
    throw new Error('The fake has no TCP address.');
  return address.port;
}
