import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from 'node:http';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { diskError, errnoOf, HostError } from '../../core/errors.ts';
import { withTimeout } from '../../core/timing.ts';
import type { Host } from '../../host/host.ts';
import { logProblem } from '../../host/log.ts';
import { distDirectory } from '../../host/package.ts';
import { readBody } from '../http/body.ts';
import { Connections } from '../http/connections.ts';
import { loopbackNames } from '../http/guard.ts';
import { bodyFor } from './actions.ts';
import { dataFault, foreignFault, noToken, onlyLooks } from './door.ts';
import {
  type DoorFile,
  readDoorFile,
  removeDoorFile,
  writeDoorFile
} from './door-file.ts';
import { Live } from './live/live.ts';
import { codeSeconds, Logins, type Scope } from './logins.ts';
import { PageFiles } from './page-files.ts';
import { type Fault, fault, faultOf, sendFault, sendJson } from './reply.ts';
import { routes } from './routes.ts';

export interface WebServer {
  /** A link with a new one-time code. */
  link: (scope: Scope) => string;
  /** Ends every stream and connection. Agents keep running. */
  close: () => Promise<void>;
}

interface WebOptions {
  host: Host;
  address: { host: string; port: number | undefined };
  /** Names of this machine that browsers elsewhere use. */
  allowedHosts: string[];
  ending: AbortSignal;
}

const headersMs = 10_000;
const requestMs = 30_000;
/** The longest prompt is a million characters. */
const bodyBytes = 8 * 1024 * 1024;
/** The most bytes of a request without a sign-in. */
const strangerBytes = 4096;
const maxUnauthenticated = 256;
const maxAuthenticated = 256;
/** During shutdown, a page has this long to read its last event. */
const lastEventMs = 500;

/**
 * Serves the page and its data.
 * @throws HostError `config_invalid` if the address cannot be used or the page
 *   was not built; `storage_full`, `storage_unwritable`
 */
export async function serveWeb(options: WebOptions): Promise<WebServer> {
  const { host, address, allowedHosts, ending } = options;
  const door = new WebDoor(options);
  const connections = new Connections({ maxUnauthenticated, maxAuthenticated });
  const server = createServer(
    { headersTimeout: headersMs, requestTimeout: requestMs },
    (request, response) => void door.handle(request, response, connections)
  ).on('connection', (socket) => connections.add(socket));
  const file = host.paths.webDoor;
  const port = await listen(server, address, readDoorFile(file)?.port);
  const written: DoorFile = {
    v: 1,
    host: address.host,
    port,
    secret: door.secret
  };
  writeDoorFile(file, written);
  const [name = address.host] = isWildcard(address.host) ? allowedHosts : [];
  return {
    link: (scope) => linkTo({ host: name, port }, door.logins.newCode(scope)),
    close: async () => {
      removeDoorFile(file, written);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      if (!ending.aborted) server.closeAllConnections();
      await withTimeout(closed, lastEventMs, undefined);
      server.closeAllConnections();
      await closed;
    }
  };
}

/** `http://127.0.0.1:1234/#CODE` */
export function linkTo(
  { host, port }: { host: string; port: number },
  code: string
): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/#${code}`;
}

/** Checks each request and passes it on. */
class WebDoor {
  readonly logins = new Logins();
  /** Known to the user's own commands, by the door file. */
  readonly secret = randomBytes(32).toString('base64url');
  readonly #host: Host;
  readonly #ending: AbortSignal;
  readonly #files = new PageFiles(join(distDirectory(), 'web'));
  readonly #live: Live;
  readonly #allowed: { hosts: Set<string>; origins: Set<string> };

  constructor({ host, address, allowedHosts, ending }: WebOptions) {
    this.#host = host;
    this.#ending = ending;
    this.#live = new Live(host, logProblem);
    const names = [...loopbackNames, ...allowedHosts, address.host];
    const hosts = new Set(names.map((name) => name.toLowerCase()));
    this.#allowed = { hosts, origins: new Set() };
  }

  /** Never rejects. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    connections: Connections
  ): Promise<void> {
    // A browser that disconnects is not an error of the server.
    response.on('error', () => undefined);
    try {
      const refused = await this.#handle(request, response, connections);
      if (refused) sendFault(response, refused);
    } catch (error) {
      if (response.destroyed || request.socket.destroyed) return;
      const known =
        error instanceof HostError ? error : diskError(error, 'the page');
      if (known && !response.headersSent)
        return sendFault(response, faultOf(known));
      logProblem(error);
      if (response.headersSent) response.destroy();
      else sendFault(response, internal);
    }
  }

  async #handle(
    request: IncomingMessage,
    response: ServerResponse,
    connections: Connections
  ): Promise<Fault | undefined> {
    const foreign = foreignFault(request, this.#allowed);
    if (foreign) return foreign;
    if (this.#ending.aborted) return endingFault;
    const { method = '', url = '' } = request;
    // As it was sent: a path that leads elsewhere is no path of ours.
    const [path = '', ...rest] = url.split('?');
    const query = new URLSearchParams(rest.join('?'));
    const reads = method === 'GET' || method === 'HEAD';
    if (!path.startsWith('/web/'))
      return reads && this.#files.serve(request, path, response)
        ? undefined
        : nothing;
    const opened = dataFault(request);
    if (opened) return opened;
    if (path === '/web/login') return this.#login(request, response);
    if (path === '/web/link') return this.#link(request, response);
    const scope = this.logins.scopeOf(request.headers.authorization);
    if (!scope) return noToken;
    if (!connections.admit(request.socket)) return tooMany;
    const route = routes.find((one) => one.path.test(path));
    if (!route) return nothing;
    if (method !== route.method) return wrongMethod(route.method);
    if (route.scope === 'act' && scope !== 'act') return onlyLooks;
    const body = method === 'POST' ? await bodyOf(request) : undefined;
    if (body && 'status' in body) return body;
    const [, ...names] = route.path.exec(path) ?? [];
    const answer = await route.answer({
      ...{ host: this.#host, live: this.#live, scope, request, response },
      ...{ names, query, body: body?.value, ending: this.#ending }
    });
    if (answer !== undefined) sendJson(response, answer);
    return undefined;
  }

  async #login(
    request: IncomingMessage,
    response: ServerResponse
  ): Promise<Fault | undefined> {
    if (request.method !== 'POST') return wrongMethod('POST');
    const body = await bodyOf(request, strangerBytes);
    if ('status' in body) return body;
    const { code } = bodyFor('login', body.value);
    const login = this.logins.exchange(code);
    if (!login) return codeSpent;
    sendJson(response, login);
    return undefined;
  }

  async #link(
    request: IncomingMessage,
    response: ServerResponse
  ): Promise<Fault | undefined> {
    if (request.method !== 'POST') return wrongMethod('POST');
    const expected = Buffer.from(`Bearer ${this.secret}`);
    const sent = Buffer.from(request.headers.authorization ?? '');
    const isRight =
      sent.length === expected.length && timingSafeEqual(sent, expected);
    if (!isRight) return noToken;
    const body = await bodyOf(request);
    if ('status' in body) return body;
    const { scope } = bodyFor('link', body.value);
    sendJson(response, { code: this.logins.newCode(scope) });
    return undefined;
  }
}

async function bodyOf(
  request: IncomingMessage,
  mostBytes = bodyBytes
): Promise<{ value: unknown } | Fault> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(;|$)/i.test(type)) return wrongType;
  const body = await readBody(request, mostBytes, () => undefined);
  if ('value' in body) return body;
  return body.fault === 'too_long' ? tooLong(mostBytes) : notJson;
}

const nothing = fault(404, 'not_found', 'Nothing is here.', 'Open the page: /');
const codeSpent = fault(
  401,
  'code_spent',
  `This link was used already, or is older than ${codeSeconds} seconds.`,
  'For another one: troupe web --link act'
);
const wrongType = fault(
  415,
  'wrong_type',
  'The content type is not allowed.',
  'Send application/json.'
);
const notJson = fault(400, 'not_json', 'This is not JSON.', 'Send JSON.');
const tooMany = fault(
  503,
  'too_many',
  'Too many connections are open.',
  'Close some pages.',
  { Connection: 'close', 'Retry-After': '1' }
);
const endingFault = fault(
  503,
  'ending',
  'The server is ending.',
  'Start it again: troupe web',
  { Connection: 'close' }
);
const internal = fault(
  500,
  'internal',
  'Something went wrong inside troupe.',
  'Look at the output of troupe web.'
);

function tooLong(mostBytes: number): Fault {
  return fault(
    413,
    'too_long',
    `The request is longer than ${mostBytes} bytes.`,
    'Send a shorter text.'
  );
}

function wrongMethod(allow: string): Fault {
  return fault(
    405,
    'wrong_method',
    'The method is not allowed here.',
    `Send ${allow}.`,
    { Allow: allow }
  );
}

export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Listens on the given port; without one on the last port, so that open pages
 * find the server again, or else on any that is free.
 */
async function listen(
  server: Server,
  { host, port }: WebOptions['address'],
  last: number | undefined
): Promise<number> {
  const ports = port === undefined ? [last ?? 0, 0] : [port];
  let problem: unknown;
  for (const one of ports)
    try {
      return await listenOn(server, host, one);
    } catch (error) {
      problem = error;
    }
  const code = errnoOf(problem) ?? String(problem);
  throw new HostError(
    'config_invalid',
    code === 'EADDRINUSE'
      ? `Port ${port} of ${host} is in use.`
      : `${host}${port === undefined ? '' : `:${port}`} cannot be listened on (${code}).`,
    'Give another port with --port, or an address of this machine with --host.'
  );
}

function listenOn(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(error);
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound ? bound.port : port);
    });
  });
}
