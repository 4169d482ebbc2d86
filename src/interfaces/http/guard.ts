import type { IncomingMessage } from 'node:http';
import { type Refusal, refusal } from './message.ts';

/** The rules for accepted requests. */
export interface Guard {
  /** Names in a Host header, in lower case, without port. */
  hosts: Set<string>;
  /** Origins of web pages, in lower case. */
  origins: Set<string>;
  /** Whether an Authorization header has the token. */
  isToken: (header?: string) => boolean;
}

/** The names of the local machine in a Host header. */
export const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

const methods = ['GET', 'POST', 'DELETE'];
const hostForm = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/;

/**
 * The error for a request that is not allowed. Host and Origin are checked
 * first, so that a web page in a browser learns nothing about the server.
 */
export function refusalOf(
  request: IncomingMessage,
  guard: Guard
): Refusal | undefined {
  const { headers, method = '', url = '' } = request;
  const { isToken } = guard;
  const foreign = foreignHeader(request, guard);
  if (foreign !== undefined)
    return forbidden(
      foreign,
      foreign === 'Host' ? '--allow-host' : '--allow-origin'
    );
  if (url.split('?')[0] !== '/mcp')
    return refusal(404, 'Not found. MCP is at /mcp.');
  const allowed = methods.join(', ');
  if (!methods.includes(method))
    return refusal(405, `Method not allowed. /mcp takes ${allowed}.`, {
      Allow: allowed
    });
  return isToken(headers.authorization)
    ? undefined
    : refusal(
        401,
        'Unauthorized. Send "Authorization: Bearer <token>"; the server says on stderr where its token is.',
        { 'WWW-Authenticate': 'Bearer realm="troupe"' }
      );
}

/** The header that shows that a request comes from elsewhere, if any. */
export function foreignHeader(
  { headers, headersDistinct }: IncomingMessage,
  { hosts, origins }: Pick<Guard, 'hosts' | 'origins'>
): 'Host' | 'Origin' | undefined {
  const host = headers.host?.toLowerCase() ?? '';
  const [, name = ''] = hostForm.exec(host) ?? [];
  if (!hosts.has(name) || headersDistinct.host?.length !== 1) return 'Host';
  const origin = headers.origin?.toLowerCase();
  const own = [`http://${host}`, `https://${host}`];
  const isOwn = origin === undefined || own.includes(origin);
  return isOwn || origins.has(origin) ? undefined : 'Origin';
}

function forbidden(header: string, flag: string): Refusal {
  return refusal(
    403,
    `Forbidden: this ${header} is not allowed. Start the server with ${flag} to allow it.`
  );
}
