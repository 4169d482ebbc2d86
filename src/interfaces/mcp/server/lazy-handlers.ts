import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';
import type { Host } from '../../../host/host.ts';
import { Prompts } from '../prompts/prompts.ts';
import {
  type Connection,
  createResources,
  resourceHandlers
} from '../resources/resources.ts';
import {
  type Handlers,
  invalidParams,
  refuseCursor,
  withProtocolErrors
} from '../transport/protocol.ts';
import { shownResources } from './offer.ts';

/**
 * Handlers of everything except tools: prompts, resources, and completion for
 * both. The module is loaded at the first such request: most clients make
 * none.
 */
export function lazyHandlers(
  connection: Connection,
  hostOf: () => Promise<Host | undefined>
): Handlers {
  let offered: ReturnType<typeof offersOf> | undefined;
  const offers = async () => {
    offered ??= offersOf(await hostOf());
    return offered;
  };
  const handlers: Handlers = {
    ...promptHandlers(connection.server, async () => (await offers()).prompts),
    ...resourceHandlers(connection, async () => (await offers()).resources),
    'completion/complete': (params) => complete(params, offers)
  };
  return Object.fromEntries(
    Object.entries(handlers).map(([method, handle]) => [
      method,
      (params: unknown) => withProtocolErrors(() => handle(params))
    ])
  );
}

function offersOf(host: Host | undefined) {
  return {
    prompts: host && new Prompts(host),
    resources: host && createResources(host, shownResources(host.config))
  };
}

const promptSchema = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.string()).default({})
});

function promptHandlers(
  server: Server,
  promptsOf: () => Promise<Prompts | undefined>
): Handlers {
  return {
    'prompts/list': async (params) => {
      refuseCursor(params);
      return { prompts: (await (await promptsOf())?.list()) ?? [] };
    },
    'prompts/get': async (params) => {
      const { data } = promptSchema.safeParse(params);
      if (!data)
        throw invalidParams(
          'The request wants "name", and "arguments" with a text for each.'
        );
      const prompts = await promptsOf();
      if (!prompts) throw invalidParams('This server has no prompts.');
      const clientName = server.getClientVersion()?.name ?? '';
      const { name, arguments: values } = data;
      const { description, text } = await prompts.get(name, values, clientName);
      const content = { type: 'text', text };
      return { description, messages: [{ role: 'user', content }] };
    }
  };
}

const completionSchema = z.object({
  ref: z.discriminatedUnion('type', [
    z.object({ type: z.literal('ref/prompt'), name: z.string() }),
    z.object({ type: z.literal('ref/resource'), uri: z.string() })
  ]),
  argument: z.object({ name: z.string(), value: z.string() })
});

async function complete(
  params: unknown,
  offers: () => Promise<ReturnType<typeof offersOf>>
) {
  const { data } = completionSchema.safeParse(params);
  if (!data)
    throw invalidParams(
      'The request wants "ref" (ref/prompt with a name, or ref/resource with a uri) and "argument" with name and value.'
    );
  const { ref, argument } = data;
  const { prompts, resources } = await offers();
  const { name, value } = argument;
  const completion =
    ref.type === 'ref/prompt'
      ? await prompts?.complete(ref.name, name, value)
      : await resources?.complete(ref.uri, name, value);
  return { completion: completion ?? { values: [], total: 0, hasMore: false } };
}
