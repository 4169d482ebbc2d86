import type { ServerResponse } from 'node:http';
import { HostError, type HostErrorCode } from '../../core/errors.ts';

/** What keeps hostile text from running or loading anything in the page. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ');

/** Headers of every answer. */
export const safeHeaders = {
  'Content-Security-Policy': contentPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin'
};

/** An answer other than 200. */
export interface Fault {
  status: number;
  code: string;
  message: string;
  /** The next step. */
  hint: string;
  headers?: Record<string, string>;
}

export function fault(
  status: number,
  code: string,
  message: string,
  hint: string,
  headers: Record<string, string> = {}
): Fault {
  return { status, code, message, hint, headers };
}

export function sendJson(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {}
): void {
  const body = Buffer.from(JSON.stringify(value));
  response
    .writeHead(status, {
      ...safeHeaders,
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
      ...headers
    })
    .end(body);
}

export function sendFault(
  response: ServerResponse,
  { status, code, message, hint, headers }: Fault
): void {
  sendJson(response, { error: { code, message, hint } }, status, headers);
}

/** What a caller can repair, as an answer. */
export function faultOf({ code, message, hint }: HostError): Fault {
  return fault(statuses[code] ?? 409, code, message, hint);
}

const statuses: Partial<Record<HostErrorCode, number>> = {
  invalid_input: 400,
  unknown_agent: 404,
  unknown_ask: 404,
  unknown_task: 404,
  not_yours: 403,
  storage_full: 507,
  system_limit: 503
};

export function invalidInput(message: string, hint: string): HostError {
  return new HostError('invalid_input', message, hint);
}
