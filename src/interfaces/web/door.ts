import type { IncomingMessage } from 'node:http';
import { foreignHeader, type Guard } from '../http/guard.ts';
import { type Fault, fault } from './reply.ts';

type Allowed = Pick<Guard, 'hosts' | 'origins'>;

/**
 * The answer to a request that no page of this server sends. These checks come
 * first, so that a web page elsewhere learns nothing.
 */
export function foreignFault(
  request: IncomingMessage,
  allowed: Allowed
): Fault | undefined {
  const foreign = foreignHeader(request, allowed);
  if (foreign !== undefined)
    return fault(
      403,
      'forbidden',
      `This ${foreign} is not allowed.`,
      foreign === 'Host'
        ? 'Use the address that troupe web printed, or start it with --allow-host.'
        : 'Only the page of this server may send requests.'
    );
  const { headers } = request;
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  const isLink =
    headers['sec-fetch-mode'] === 'navigate' && request.method === 'GET';
  if (isOwn || isLink) return undefined;
  return fault(
    403,
    'forbidden',
    `A request from another site is not allowed (${site}).`,
    'Open the page itself.'
  );
}

/** A link may open the page, but never its data. */
export function dataFault({ headers }: IncomingMessage): Fault | undefined {
  if (headers['sec-fetch-mode'] !== 'navigate') return undefined;
  return fault(
    403,
    'forbidden',
    'Data is not opened as a page.',
    'Open the page itself.'
  );
}

export const noToken = fault(
  401,
  'unauthorized',
  'This page is not signed in, or the server was started again.',
  'Open a link of: troupe web --link act',
  { 'WWW-Authenticate': 'Bearer realm="troupe"' }
);

export const onlyLooks = fault(
  403,
  'look_only',
  'This link is for looking only.',
  'For a link that may act: troupe web --link act'
);
