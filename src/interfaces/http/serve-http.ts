import { createServer, type RequestListener } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errnoOf, HostError } from '../../core/errors.ts';
import { soon } from '../../core/soon.ts';
import type { Host } from '../../host.ts';
import type { Additions } from '../mcp/additions.ts';
import { instructionsFor } from '../mcp/instructions.ts';
import type { Life } from '../mcp/lifecycle.ts';
import { offerOf, prospectOf } from '../mcp/offer.ts';
import { serve } from '../mcp/server.ts';
import { type Address, isLoopback, urlOf } from './address.ts';
import { Connections } from './connections.ts';
import { doorkeeper } from './door.ts';
import { ownNames } from './gate.ts';
import { Sessions } from './sessions.ts';
import { type Token, tokenCheck } from './token.ts';

export interface Listening {
  url: string;
  /** Ends every session and connection. Agents go on. */
  close: () => Promise<void>;
}

export interface ListenOptions {
  host: Host;
  life: Life;
  address: Address;
  token: Token;
  additions?: Additions | undefined;
}

/** A request has so long for its headers, and so long in all, to arrive. */
const headersMs = 10_000;
const requestMs = 30_000;
/** So often those are looked at. */
const lookMs = 1000;
/** So long a client may take to read what was said last. */
const lastWordsMs = 500;
const sweepMs = 10;
/** Connections of each session's client, and of clients without one yet. */
const connectionsEach = 16;
/** Connections of programs that have not presented the token. */
const mostStrangers = 1024;
/** Connections that the system queues before they are accepted. */
const backlog = 2048;

/**
 * Serves a host's tools to any number of clients over streamable HTTP.
 * @throws HostError `config_invalid` when nobody could, or everybody would,
 *   get there
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host, life, address, token, additions } = options;
  const { http } = host.config;
  checkReach(address, http.allowedHosts);
  const instructions = instructionsFor(host.registry, host.config, undefined);
  const sessions: Sessions = new Sessions({
    life,
    most: http.sessions,
    idleMs: http.idleMinutes * 60_000,
    serve: (session, transport) => {
      const council = host.councilOf(session.name, (name) =>
        sessions.isThere(name)
      );
      return serve(
        {
          life: session.life,
          instructions,
          prospect: prospectOf(host.config),
          offer: async () => offerOf(host, council),
          additions
        },
        transport
      );
    }
  });
  const connections = new Connections({
    mostStrangers,
    mostAdmitted: connectionsEach * (http.sessions + 1)
  });
  const door = doorkeeper({
    gate: {
      hosts: lowerCase([...ownNames, ...http.allowedHosts]),
      origins: lowerCase(http.allowedOrigins),
      isToken: tokenCheck(token)
    },
    life,
    connections,
    sessions,
    bodyBytes: http.bodyMegabytes * 1024 * 1024
  });
  const serveOne: RequestListener = (request, response) =>
    void door(request, response);
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: lookMs
    },
    serveOne
  )
    .on('checkContinue', serveOne)
    .on('connection', (socket) => connections.add(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(unreachable(address, error)));
    server.listen(address.port, address.host, backlog, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : address.port;
  return {
    url: urlOf({ host: nameOf(address, http.allowedHosts), port }),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      connections.closeStrangers();
      // What calls have just answered is on its way.
      await nextTurn();
      await sessions.close();
      const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
      await soon(closed, lastWordsMs, undefined);
      clearInterval(sweep);
      server.closeAllConnections();
      await closed;
    }
  };
}

/** By which its clients know it. */
function nameOf({ host }: Address, [allowed]: string[]): string {
  return isLoopback(host) ? host : (allowed ?? host);
}

/** @throws HostError `config_invalid` */
function checkReach({ host }: Address, allowed: string[]): void {
  if (isLoopback(host) || allowed.length > 0) return;
  throw new HostError(
    'config_invalid',
    `Others could reach ${host}, but no Host name of theirs is allowed.`,
    'Name those with --allow-host, or serve this machine alone: --http PORT.'
  );
}

function unreachable({ host, port }: Address, error: Error): HostError {
  const code = errnoOf(error) ?? error.message;
  if (foreign.has(code))
    return new HostError(
      'config_invalid',
      `${host} is no address of this machine (${code}).`,
      'Give one of its own with --http, such as 127.0.0.1:0, or 0.0.0.0:0 for all; names of it that clients use go with --allow-host.'
    );
  return new HostError(
    'config_invalid',
    code === 'EADDRINUSE'
      ? `Port ${port} of ${host} is in use.`
      : `Port ${port} of ${host} cannot be listened on (${code}).`,
    'Give another with --http; port 0 is any that is free.'
  );
}

/** What listening fails with where the host is the trouble, not the port. */
const foreign = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL']);

function lowerCase(names: string[]): Set<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}
