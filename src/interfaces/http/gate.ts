import type { IncomingMessage } from 'node:http';
import type { Refusal } from './answer.ts';

export interface Gate {
  /** Names that a Host header may have, in lower case, without port. */
  hosts: Set<string>;
  /** Origins of pages that may call, in lower case. */
  origins: Set<string>;
  isToken: (header?: string) => boolean;
}

/** Every machine's names for itself. */
export const ownNames = ['localhost', '127.0.0.1', '[::1]'];

const methods = ['GET', 'POST', 'DELETE'];
const hostForm = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/;

/**
 * Why a request is not even looked at, if so. Host and Origin come before
 * everything else: a page that a browser has open must learn nothing.
 */
export function refusalOf(
  { headers, headersDistinct, method = '', url = '' }: IncomingMessage,
  { hosts, origins, isToken }: Gate
): Refusal | undefined {
  const host = headers.host?.toLowerCase() ?? '';
  const [, name = ''] = hostForm.exec(host) ?? [];
  if (!hosts.has(name) || headersDistinct.host?.length !== 1)
    return forbidden('Host', '--allow-host');
  const origin = headers.origin?.toLowerCase();
  const own = [`http://${host}`, `https://${host}`];
  if (origin !== undefined && !own.includes(origin) && !origins.has(origin))
    return forbidden('Origin', '--allow-origin');
  if (url.split('?')[0] !== '/mcp')
    return {
      status: 404,
      code: -32000,
      message: 'Nothing is here. MCP is at /mcp.'
    };
  if (!methods.includes(method))
    return {
      status: 405,
      code: -32000,
      message: `Method not allowed. /mcp takes ${methods.join(', ')}.`,
      headers: { Allow: methods.join(', ') }
    };
  return isToken(headers.authorization)
    ? undefined
    : {
        status: 401,
        code: -32000,
        message:
          'Unauthorized. Send "Authorization: Bearer <token>"; the server says on stderr where its token lies.',
        headers: { 'WWW-Authenticate': 'Bearer realm="troupe"' }
      };
}

function forbidden(header: string, flag: string): Refusal {
  return {
    status: 403,
    code: -32000,
    message: `Forbidden: this ${header} is not allowed. Start the server with ${flag} to allow it.`
  };
}
