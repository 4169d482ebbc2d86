import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';
import { inlineChars } from '../../../answers/format-run.ts';
import { type Config, hasToolset } from '../../../config/config.ts';
import type { Host } from '../../../host/host.ts';
import { limitsOf } from '../answers/client-limits.ts';
import { suggest } from '../prompts/suggest.ts';
import {
  type Handlers,
  invalidParams,
  refuseCursor
} from '../transport/protocol.ts';
import { AgentResources } from './agent-resources.ts';
import { LogResources } from './log-resources.ts';
import { parseUri, type ResourceRef, unknownResource } from './resource-uri.ts';
import type { Listed, Source } from './source.ts';
import { Subscriptions, Watch } from './subscriptions.ts';
import { WorkerResources } from './worker-resources.ts';

/** All resources of a server. */
export interface Resources extends Omit<Source, 'list'> {
  list: (clientName: string) => Promise<Listed[]>;
}

/** The kinds of resources that a host has. */
export interface Shown {
  agents: boolean;
  workers: boolean;
}

export interface Connection {
  server: Server;
  /** Aborted when the connection ends. */
  ending: AbortSignal;
  /** Whether the client would receive a notification now. */
  canNotify: () => boolean;
}

/** The interval at which the list of resources is polled for changes. */
const listMs = 250;

export function resourceHandlers(
  { server, ending, canNotify }: Connection,
  resourcesOf: () => Promise<Resources | undefined>
): Handlers {
  const subscriptions = new Subscriptions(
    (uri) => server.sendResourceUpdated({ uri }),
    canNotify
  );
  const list = new Watch(listMs, canNotify);
  const end = () => {
    subscriptions.end();
    list.end();
  };
  if (ending.aborted) end();
  ending.addEventListener('abort', end);
  const clientName = () => server.getClientVersion()?.name ?? '';
  // Each handler awaits the resources first, so that requests keep their order.
  return {
    'resources/list': async (params) => {
      refuseCursor(params);
      const resources = await resourcesOf();
      if (!resources) return { resources: [] };
      list.add('list', {
        stamp: () => resources.listStamp(),
        notify: () => server.sendResourceListChanged()
      });
      return { resources: await resources.list(clientName()) };
    },
    'resources/templates/list': async (params) => {
      refuseCursor(params);
      return { resourceTemplates: (await resourcesOf())?.templates ?? [] };
    },
    'resources/read': async (params) => {
      const resources = await resourcesOf();
      const uri = uriIn(params);
      const ref = parseUri(uri);
      const request = { ref, uri, clientName: clientName() };
      return { contents: await existing(resources, uri).read(request) };
    },
    'resources/subscribe': async (params) => {
      const resources = await resourcesOf();
      const uri = uriIn(params);
      const ref = parseUri(uri);
      const stamp = existing(resources, uri).stampOf(ref);
      subscriptions.add(ref.uri, uri, stamp);
      return {};
    },
    'resources/unsubscribe': async (params) => {
      await resourcesOf();
      const uri = uriIn(params);
      subscriptions.remove(parseUri(uri).uri, uri);
      return {};
    }
  };
}

/** The resources of a host, if it has any. */
export function createResources(
  host: Host,
  shown: Shown
): Resources | undefined {
  const sources = sourcesOf(host, shown);
  if (sources.size === 0) return undefined;
  const all = [...new Set(sources.values())];
  const sourceOf = (ref: ResourceRef): Source => {
    host.safety.check();
    const source = sources.get(familyOf(ref.uri));
    if (source) return source;
    throw unknownResource(ref.uri, missing(host.config));
  };
  return {
    templates: all.flatMap(({ templates }) => templates),
    list: async (clientName) => {
      host.safety.check();
      const { answerBytes } = limitsOf(clientName);
      const room = Math.min(inlineChars, answerBytes);
      const listed: Listed[] = [];
      for (const source of all) {
        const taken = Buffer.byteLength(JSON.stringify(listed));
        listed.push(...(await source.list(room - taken)));
      }
      return listed;
    },
    listStamp: () => all.map((source) => source.listStamp()).join(' '),
    read: async (request) => sourceOf(request.ref).read(request),
    stampOf: (ref) => sourceOf(ref).stampOf(ref),
    complete: async (template, variable, typed) => {
      host.safety.check();
      const source = sources.get(familyOf(template));
      return source
        ? await source.complete(template, variable, typed)
        : suggest(typed, []);
    }
  };
}

/** Sources, by the result of `familyOf`. */
function sourcesOf(host: Host, shown: Shown): Map<string, Source> {
  const sources = new Map<string, Source>();
  if (shown.agents) {
    sources.set('troupe://log', new LogResources(host.paths, host.identity));
    sources.set('troupe://agents', new AgentResources(host));
  }
  if (shown.workers) {
    const workers = new WorkerResources(host.orchestrator);
    sources.set('agent:', workers).set('run:', workers);
  }
  return sources;
}

/** The scheme of a URI; `troupe:` with the first part of the path. */
function familyOf(uri: string): string {
  return /^(troupe:\/\/[a-z]+|[a-z]+:)/.exec(uri)?.[1] ?? '';
}

function missing(config: Config): string {
  return hasToolset(config, 'orchestrator')
    ? 'This server has resources of workers alone: the others go with the toolsets spawn, runs and squad.'
    : 'This server has no resources of workers: they go with the toolset orchestrator.';
}

const paramsSchema = z.object({ uri: z.string() });

/** @throws ProtocolError */
function uriIn(params: unknown): string {
  const { data } = paramsSchema.safeParse(params);
  if (data) return data.uri;
  throw invalidParams('The request names no resource: give its "uri".');
}

/** @throws ProtocolError */
function existing(resources: Resources | undefined, uri: string): Resources {
  if (resources) return resources;
  throw unknownResource(
    uri,
    'This server has no resources: they go with the toolsets spawn, runs, squad and orchestrator.'
  );
}
