import type { ServerResponse } from 'node:http';

/** Tokens of one answer. `input` includes what came from the cache. */
export interface Tokens {
  input: number;
  output: number;
  cached: number;
}

export type StopReason = 'end' | 'tool' | 'refusal' | 'max_tokens';

/** A tool call in the words of the API that carries it. */
export interface ToolCall {
  name: string;
  namespace?: string;
  /** Set: free text instead of JSON, as apply_patch takes it. */
  freeform?: string;
  input: object;
}

/** An answer being written in the format of one API. */
export interface Answer {
  text(text: string): void;
  call(call: ToolCall): void;
  end(stop: StopReason, tokens: Tokens): void;
  fail(status: number, message: string, headers: Record<string, string>): void;
}

/** Pieces of a text the size a provider would stream them in. */
export function pieces(text: string, length = 4096): string[] {
  const characters = Array.from(text);
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += length) {
    parts.push(characters.slice(at, at + length).join(''));
  }
  return parts;
}

/** Server-sent events; the headers leave with the first event. */
export function eventStream(response: ServerResponse) {
  return (event: { type: string } & Record<string, unknown>): void => {
    if (!response.headersSent) {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache'
      });
    }
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {}
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...headers
  });
  response.end(JSON.stringify(body));
}
