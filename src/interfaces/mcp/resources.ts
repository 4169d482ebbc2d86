import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';
import type { Answers } from './beside-tools.ts';
import type { Life } from './lifecycle.ts';
import type { Completion } from './prompts/suggest.ts';
import { invalidParams } from './protocol-error.ts';
import { type Place, placeOf, unknownResource } from './resource-uri.ts';
import { Subscriptions } from './subscriptions.ts';
import { Watch } from './watch.ts';

export interface Listed {
  uri: string;
  name: string;
  /** For people, where the name is for programs. */
  title?: string;
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

/** Things of a kind that can be read and watched. */
export interface Source {
  templates: Template[];
  /** @param room bytes of JSON */
  list: (room: number) => Listed[] | Promise<Listed[]>;
  /** Changes whenever the list does. */
  listStamp: () => string;
  /** @throws ProtocolError when there is no such thing */
  read: (asked: Asked) => Promise<Content[]>;
  /**
   * What changes whenever a resource does.
   * @throws ProtocolError when there is no such thing
   */
  stampOf: (place: Place) => () => string;
  /** What a variable of a template may be. */
  complete: (
    template: string,
    variable: string,
    typed: string
  ) => Completion | Promise<Completion>;
}

/** All that a server has. */
export interface Resources extends Omit<Source, 'list'> {
  list: (clientName: string) => Promise<Listed[]>;
}

const listMs = 250;

/** The methods of the protocol that are about resources. */
export function resourceAnswers(
  server: Server,
  life: Life,
  offered: () => Promise<Resources | undefined>
): Answers {
  const subscriptions = new Subscriptions((uri) =>
    server.sendResourceUpdated({ uri })
  );
  const list = new Watch(listMs);
  const end = () => {
    subscriptions.end();
    list.end();
  };
  if (life.ending.aborted) end();
  life.ending.addEventListener('abort', end);
  const clientName = () => server.getClientVersion()?.name ?? '';
  // Each has the same wait first, so that they stay in their order.
  return {
    'resources/list': async () => {
      const resources = await offered();
      if (!resources) return { resources: [] };
      list.add('list', {
        stamp: () => resources.listStamp(),
        tell: () => server.sendResourceListChanged()
      });
      return { resources: await resources.list(clientName()) };
    },
    'resources/templates/list': async () => ({
      resourceTemplates: (await offered())?.templates ?? []
    }),
    'resources/read': async (params) => {
      const resources = await offered();
      const uri = uriIn(params);
      const place = placeOf(uri);
      const asked = { place, uri, clientName: clientName() };
      return { contents: await there(resources, uri).read(asked) };
    },
    'resources/subscribe': async (params) => {
      const resources = await offered();
      const uri = uriIn(params);
      const place = placeOf(uri);
      const stamp = there(resources, uri).stampOf(place);
      subscriptions.add(place.uri, uri, stamp);
      return {};
    },
    'resources/unsubscribe': async (params) => {
      await offered();
      const uri = uriIn(params);
      subscriptions.remove(placeOf(uri).uri, uri);
      return {};
    }
  };
}

const paramsSchema = z.object({ uri: z.string() });

/** @throws ProtocolError */
function uriIn(params: unknown): string {
  const { data } = paramsSchema.safeParse(params);
  if (data) return data.uri;
  throw invalidParams('The request names no resource: give its "uri".');
}

/** @throws ProtocolError */
function there(resources: Resources | undefined, uri: string): Resources {
  if (resources) return resources;
  throw unknownResource(
    uri,
    'This server has no resources: they go with the toolsets spawn, runs, squad and orchestrator.'
  );
}
