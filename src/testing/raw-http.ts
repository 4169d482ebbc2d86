import { type IncomingHttpHeaders, request } from 'node:http';
import type { StartedHttp } from './http-server.ts';

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface RawRequest {
  method?: string;
  path?: string;
  /** Undefined leaves one of the usual out. */
  headers?: Record<string, string | undefined>;
  body?: string;
}

const latest = '2025-11-25';

export const initialize = initializeWith(latest);

function initializeWith(protocolVersion: string): string {
  return message('initialize', {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' }
  });
}

export function message(method: string, params: unknown = {}, id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** One request as it stands: nothing is checked or repeated. */
export function ask(
  { port, token }: Pick<StartedHttp, 'port' | 'token'>,
  { method = 'POST', path = '/mcp', headers = {}, body = '' }: RawRequest = {}
): Promise<RawAnswer> {
  const usual = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body))
  };
  const all = Object.entries({ ...usual, ...headers }).flatMap(
    ([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]]
  );
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        headers: Object.fromEntries(all)
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.once('close', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text
          })
        );
      }
    );
    sent.once('error', reject).end(body);
  });
}

/** A session by hand: its id. */
export async function rawSession(
  server: StartedHttp,
  version = latest
): Promise<string> {
  const body = initializeWith(version);
  const { status, headers, text } = await ask(server, { body });
  const id = headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`${status}: ${text}`);
  return id;
}
