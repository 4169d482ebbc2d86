import type { ServerResponse } from 'node:http';

/** Why a request is not served. */
export interface Refusal {
  status: number;
  /** JSON-RPC's. */
  code: number;
  message: string;
  headers?: Record<string, string>;
  /** Of the message that it answers, if that is known. */
  id?: string | number;
}

/** Answers with an error, in JSON-RPC's form. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  const { status, code, message, headers = {}, id = null } = refusal;
  const body = { jsonrpc: '2.0', error: { code, message }, id };
  response
    .writeHead(status, { 'Content-Type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}
