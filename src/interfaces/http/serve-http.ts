import { createServer, type RequestListener } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathsOf } from '../../core/paths/paths.ts';
import { withTimeout } from '../../core/timing.ts';
import { type Host, retainAutomatically } from '../../host/host.ts';
import type { Additions } from '../mcp/server/additions.ts';
import { instructionsFor } from '../mcp/server/instructions.ts';
import type { Life } from '../mcp/server/lifecycle.ts';
import { offerOf, prospectOf } from '../mcp/server/offer.ts';
import { declaredBy, serve } from '../mcp/server/server.ts';
import {
  type Address,
  addressIn,
  checkReach,
  nameOf,
  unreachable,
  urlOf
} from './address.ts';
import { Connections } from './connections.ts';
import { loopbackNames } from './guard.ts';
import { ModernHttp } from './modern-http.ts';
import { router } from './router.ts';
import { Sessions } from './sessions.ts';
import { type Token, tokenCheck, tokenFor } from './token.ts';

export interface Listening {
  url: string;
  /** Ends every session and connection. Agents keep running. */
  close: () => Promise<void>;
}

interface ListenOptions {
  host: Host;
  life: Life;
  address: Address;
  token: Token;
  additions?: Additions | undefined;
}

/** The time limit for the headers of a request. */
const headersMs = 10_000;
/** The time limit for a whole request. */
const requestMs = 30_000;
/** The interval at which Node checks both limits. */
const checkMs = 1000;
/** During shutdown, a client has this long to read its last answers. */
const lastAnswersMs = 500;
/** During shutdown, idle connections are closed at this interval. */
const sweepMs = 10;
/** Connections per session, and of all clients without a session together. */
const connectionsPerSession = 16;
/** The limit of connections without the token. */
const maxUnauthenticated = 1024;
/** Connections that the system queues before they are accepted. */
const backlog = 2048;

/**
 * Serves a host's tools to any number of clients over streamable HTTP.
 * @throws HostError `config_invalid` if the address cannot be used, or if other
 *   machines can reach it and no host name is allowed
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host, life, address, token, additions } = options;
  const { http } = host.config;
  checkReach(address, http.allowedHosts);
  const instructions = instructionsFor(host.registry, host.config);
  const prospect = prospectOf(host.config);
  const capabilities = declaredBy({ prospect, additions });
  const sessions: Sessions = new Sessions({
    life,
    maxSessions: http.sessions,
    idleMs: http.idleMinutes * 60_000,
    capabilities,
    serve: (session, transport) => {
      const council = host.councilOf(session.name, (name) =>
        sessions.keepsNames(name, session)
      );
      return serve(
        {
          life: session.life,
          instructions,
          prospect,
          offer: async () => offerOf(host, council),
          additions,
          session: {
            name: session.name,
            isConnected: (name) => sessions.hasClient(name)
          }
        },
        transport
      );
    }
  });
  const connections = new Connections({
    maxUnauthenticated,
    maxAuthenticated: connectionsPerSession * (http.sessions + 1)
  });
  const route = router({
    guard: {
      hosts: lowerCase([...loopbackNames, ...http.allowedHosts]),
      origins: lowerCase(http.allowedOrigins),
      isToken: tokenCheck(token)
    },
    life,
    connections,
    sessions,
    modern: new ModernHttp({
      instructions,
      capabilities,
      sessions,
      life,
      tools: additions?.tools ?? []
    }),
    bodyBytes: http.bodyMegabytes * 1024 * 1024
  });
  const serveOne: RequestListener = (request, response) =>
    void route(request, response);
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs
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
      connections.closeUnauthenticated();
      // Lets calls that have just ended send their answers.
      await nextTurn();
      await sessions.close();
      const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
      await withTimeout(closed, lastAnswersMs, undefined);
      clearInterval(sweep);
      server.closeAllConnections();
      await closed;
    }
  };
}

function lowerCase(names: string[]): Set<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}

export interface HttpOptions extends Additions {
  /** `[[host:]port]`, as with `--http`; default: 127.0.0.1:8377. */
  address?: string;
  /** Default: the token in `http/token` of the workspace's record. */
  token?: string;
}

export interface HttpServer {
  url: string;
  /** The file with the token; undefined if the caller passed the token. */
  tokenFile: string | undefined;
  /** Ends the sessions; the host and its agents keep running. */
  close: () => Promise<void>;
}

/**
 * Serves a host and the additions of another program over streamable HTTP, as
 * `troupe mcp --http` does. The host's configuration sets the allowed hosts
 * and origins and the number of sessions.
 * @throws HostError `config_invalid`, `state_unsafe`, `storage_full`,
 *   `storage_unwritable`
 */
export async function serveHttp(
  host: Host,
  { address = '', token: customToken, ...additions }: HttpOptions = {}
): Promise<HttpServer> {
  host.safety.check();
  const token = tokenFor(pathsOf(host.config.workspace).token, customToken);
  host.keys.hide(token.value);
  const ending = new AbortController();
  const { url, close } = await listen({
    host,
    life: { ending: ending.signal, track: (call) => call },
    address: addressIn(address),
    token,
    additions
  });
  host.watch();
  const stopRetaining = retainAutomatically(host);
  return {
    url,
    tokenFile: token.file,
    close: async () => {
      stopRetaining();
      ending.abort();
      await close();
    }
  };
}
