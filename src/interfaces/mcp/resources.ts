import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';
import { errnoOf } from '../../core/errors.ts';
import { logProblem } from '../../log.ts';
import type { Life } from './lifecycle.ts';
import {
  invalidParams,
  type Place,
  placeOf,
  ResourceError,
  unknownResource
} from './resource-uri.ts';
import { Subscriptions } from './subscriptions.ts';
import { Watch } from './watch.ts';

export interface Listed {
  uri: string;
  name: string;
  description: string;
  mimeType: string;
}

export interface Template extends Omit<Listed, 'uri'> {
  uriTemplate: string;
}

export interface Content {
  uri: string;
  mimeType: string;
  text: string;
}

export interface Asked {
  place: Place;
  /** As the client has written it. */
  uri: string;
  /** `clientInfo.name` of the client. */
  clientName: string;
}

/** What can be read and watched, as data. */
export interface Resources {
  templates: Template[];
  list: (clientName: string) => Listed[];
  /** Changes whenever the list does. */
  listStamp: () => string;
  /** @throws ResourceError when there is no such thing */
  read: (asked: Asked) => Promise<Content[]>;
  /**
   * What changes whenever a resource does.
   * @throws ResourceError when there is no such thing
   */
  stampOf: (place: Place) => () => string;
}

const listMs = 250;

/**
 * Serves resources over a server that has the capability and has not been
 * connected yet. Nothing is looked at before a client asks.
 */
export function serveResources(
  server: Server,
  life: Life,
  offered: () => Promise<Resources | undefined>
): void {
  const subscriptions = new Subscriptions((uri) =>
    server.sendResourceUpdated({ uri })
  );
  const list = new Watch(listMs);
  life.ending.addEventListener('abort', () => {
    subscriptions.end();
    list.end();
  });
  const clientName = () => server.getClientVersion()?.name ?? '';
  const serve = (method: string, answer: Answer) =>
    server.setRequestHandler(
      z.object({ method: z.literal(method), params: z.unknown().optional() }),
      // Each has the same wait first, so that they stay in their order.
      async ({ params }) =>
        life.track(told(async () => answer(await offered(), params)))
    );

  serve('resources/list', (resources) => {
    if (!resources) return { resources: [] };
    list.add('list', {
      stamp: () => resources.listStamp(),
      tell: () => server.sendResourceListChanged()
    });
    return { resources: resources.list(clientName()) };
  });
  serve('resources/templates/list', (resources) => ({
    resourceTemplates: resources?.templates ?? []
  }));
  serve('resources/read', async (resources, params) => {
    const uri = uriIn(params);
    const place = placeOf(uri);
    const asked = { place, uri, clientName: clientName() };
    return { contents: await there(resources, uri).read(asked) };
  });
  serve('resources/subscribe', (resources, params) => {
    const uri = uriIn(params);
    const place = placeOf(uri);
    const stamp = there(resources, uri).stampOf(place);
    subscriptions.add(place.uri, uri, stamp);
    return {};
  });
  serve('resources/unsubscribe', (_, params) => {
    const uri = uriIn(params);
    subscriptions.remove(placeOf(uri).uri, uri);
    return {};
  });
}

type Answer = (
  resources: Resources | undefined,
  params: unknown
) => Record<string, unknown> | Promise<Record<string, unknown>>;

const paramsSchema = z.object({ uri: z.string() });

/** @throws ResourceError */
function uriIn(params: unknown): string {
  const { data } = paramsSchema.safeParse(params);
  if (data) return data.uri;
  throw invalidParams('The request names no resource: give its "uri".');
}

/** @throws ResourceError */
function there(resources: Resources | undefined, uri: string): Resources {
  if (resources) return resources;
  throw unknownResource(
    uri,
    'This server has no resources. It has them with the toolset orchestrator.'
  );
}

/** Passes on what a client can mend; the rest goes to stderr. */
async function told<Told>(work: () => Promise<Told>): Promise<Told> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ResourceError) throw error;
    logProblem(error);
    const code = errnoOf(error);
    throw new ResourceError(
      -32603,
      code === undefined
        ? 'Something went wrong inside troupe. Look at the server log (stderr).'
        : `The files of the workers cannot be read (${code}). Check owner and permissions of .agents/ in the workspace.`
    );
  }
}
