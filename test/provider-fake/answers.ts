import type { ServerResponse } from 'node:http';
import type { Answer, Tokens } from '../model-server/answer.ts';
import { sendJson } from '../model-server/answer.ts';
import { apiOf } from '../model-server/apis.ts';
import type { ApiName, Asked } from './asked.ts';
import { type ErrorCase, errorOf } from './provider-errors.ts';

/** One request, to be answered. */
export interface Exchange {
  engine: ApiName;
  asked: Asked;
  response: ServerResponse;
}

/** How a request is answered, well or badly. */
export type ProviderAnswer = (exchange: Exchange) => void | Promise<void>;

interface Said {
  /** Other than the model that was asked for. */
  model?: string;
  tokens?: Tokens;
  stop?: 'end' | 'refusal' | 'max_tokens';
}

const fewTokens: Tokens = { input: 10, output: 5, cached: 0 };

/** A whole answer, streamed or not as the request asks. */
export function says(
  text: string,
  { model, tokens = fewTokens, stop = 'end' }: Said = {}
): ProviderAnswer {
  return (exchange) => {
    const answer = begun(exchange, model);
    answer.text(text);
    answer.end(stop, tokens);
  };
}

/** An answer whose second half comes when it is released. */
export function saysInHalves(first: string, second: string) {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const answer: ProviderAnswer = async (exchange) => {
    const begin = begun(exchange);
    begin.text(first);
    await released;
    begin.text(second);
    begin.end('end', fewTokens);
  };
  return { answer, release };
}

/** JSON in one piece, though a stream was asked for. */
export function saysWhole(text: string): ProviderAnswer {
  return (exchange) => says(text)({ ...exchange, asked: unstreamed(exchange) });
}

/** What this provider says when something is wrong. */
export function fails(
  which: ErrorCase,
  headers: Record<string, string> = {}
): ProviderAnswer {
  return ({ engine, response }) => {
    const [status, body] = errorOf(engine, which);
    sendJson(response, status, body, headers);
  };
}

/** A status with a body of any form. */
export function sends(
  status: number,
  body: string | ((asked: Asked) => string),
  type = 'application/json'
): ProviderAnswer {
  return ({ asked, response }) => {
    response.writeHead(status, { 'content-type': type });
    response.end(typeof body === 'string' ? body : body(asked));
  };
}

/** What a gateway or a wrong address says. */
export function page(status: number): ProviderAnswer {
  const html = `<html><head><title>Gateway</title><style>p { color: red }</style></head>
    <body><h1>Try again</h1></body></html>`;
  return sends(status, html, 'text/html; charset=utf-8');
}

/** JSON events as they are given, or the first of them alone. */
export function events(...lines: string[]): ProviderAnswer {
  return (exchange) => {
    const [first = ''] = lines;
    if (!exchange.asked.stream) return sends(200, first)(exchange);
    const named =
      exchange.engine === 'claude-api' ? 'event: message_start\n' : '';
    const stream = lines.map((line) => `${named}data: ${line}\n\n`).join('');
    sends(200, stream, 'text/event-stream')(exchange);
  };
}

/** An answer that begins well, with an error where more of it should be. */
export function breaksAfter(text: string): ProviderAnswer {
  return (exchange) => {
    const { engine, asked, response } = exchange;
    if (!asked.stream) return fails('broken')(exchange);
    // Google's SDK knows an error only when nothing comes with it.
    if (engine !== 'gemini') half(exchange, text);
    response.end(errorEvent(engine, 'The machines are overloaded.'));
  };
}

function errorEvent(engine: ApiName, message: string): string {
  const line = (event: object) => JSON.stringify(event);
  switch (engine) {
    case 'grok':
    case 'openai':
      return `data: ${line({ type: 'error', code: 'server_error', message, param: null })}\n\n`;
    case 'claude-api': {
      const error = { type: 'overloaded_error', message };
      return `event: error\ndata: ${line({ type: 'error', error })}\n\n`;
    }
    case 'gemini':
      // As it is, in no event.
      return line({ error: { code: 503, message, status: 'UNAVAILABLE' } });
    case 'mistral': {
      const choice = { index: 0, delta: {}, finish_reason: 'error' };
      return `data: ${line({ id: 'c', model: 'm', choices: [choice] })}\n\n`;
    }
  }
}

/** The connection stays open and nothing comes. */
export const nothing: ProviderAnswer = () => undefined;

/** Half an answer, and then nothing. */
export function stallsAfter(text: string): ProviderAnswer {
  return (exchange) => half(exchange, text);
}

/** Half an answer, and the connection is cut. */
export function cutAfter(text: string): ProviderAnswer {
  return (exchange) => {
    half(exchange, text);
    // A blank to both forms; what was written before is on its way then.
    exchange.response.write('\n', () => exchange.response.destroy());
  };
}

/** Half an answer that ends as if it were one. */
export function endsAfter(text: string): ProviderAnswer {
  return (exchange) => {
    half(exchange, text, 'chunked');
    exchange.response.end();
  };
}

function half(exchange: Exchange, text: string, length = '9999'): void {
  const { asked, response } = exchange;
  if (asked.stream) {
    begun(exchange).text(text);
    return;
  }
  response.writeHead(200, {
    'content-type': 'application/json',
    ...(length === 'chunked' ? {} : { 'content-length': length })
  });
  response.write(`{"id": ${JSON.stringify(text)}, "outp`);
}

function begun({ asked, response }: Exchange, model = asked.model): Answer {
  const { body, stream } = asked;
  const path = asked.path.replace(/(?<=\/models\/)[^/:]+/, model);
  const { pathname } = new URL(path, 'http://localhost');
  const api = apiOf(pathname);
  if (!api) throw new Error(`No provider answers at ${pathname}`);
  return api.answer(response, { ...body, model, stream }, pathname);
}

function unstreamed({ asked }: Exchange): Asked {
  const path = asked.path.replace(':streamGenerateContent', ':generateContent');
  return { ...asked, path, stream: false };
}
