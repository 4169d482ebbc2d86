import { z } from 'zod';
import { until } from '../judges/until.ts';
import type { McpClient } from './mcp-client.ts';

const contentSchema = z.strictObject({
  uri: z.string(),
  mimeType: z.string(),
  text: z.string()
});

const readSchema = z.strictObject({ contents: z.array(contentSchema) });

const listedSchema = z.strictObject({
  resources: z.array(
    z.strictObject({
      uri: z.string(),
      name: z.string(),
      title: z.string().optional(),
      description: z.string(),
      mimeType: z.string()
    })
  )
});

const lineSchema = z.looseObject({
  seq: z.number(),
  type: z.string(),
  agent_id: z.string().optional(),
  task_id: z.string().optional()
});

export async function resourcesListed(client: McpClient) {
  return listedSchema.parse(await client.request('resources/list')).resources;
}

export async function resourceRead(client: McpClient, uri: string) {
  const answer = await client.request('resources/read', { uri });
  return readSchema.parse(answer).contents;
}

/** The events of an outbox or a broadcast; fails when that is not all. */
export async function eventsRead(client: McpClient, uri: string) {
  const [content, ...others] = await resourceRead(client, uri);
  if (content?.uri !== uri || others.length > 0)
    throw new Error(`Not one text of ${uri} alone.`);
  const lines = content.text.split('\n').slice(0, -1);
  return lines.map((line) => lineSchema.parse(JSON.parse(line)));
}

export async function subscribe(
  client: McpClient,
  ...uris: string[]
): Promise<void> {
  await Promise.all(
    uris.map((uri) => client.request('resources/subscribe', { uri }))
  );
}

export async function unsubscribe(
  client: McpClient,
  ...uris: string[]
): Promise<void> {
  await Promise.all(
    uris.map((uri) => client.request('resources/unsubscribe', { uri }))
  );
}

const updatedSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  method: z.literal('notifications/resources/updated'),
  params: z.strictObject({ uri: z.string() })
});

/** What was said to have changed, since the last call. */
export function updatesOf({ notifications }: McpClient): string[] {
  return notifications
    .splice(0)
    .flatMap((one) => updatedSchema.safeParse(one).data?.params.uri ?? []);
}

/** Waits until all of these were said to have changed; gives all that were. */
export function updated(
  client: McpClient,
  ...uris: string[]
): Promise<string[]> {
  const seen: string[] = [];
  return until(
    `changes of ${uris.slice(0, 5).join(', ')}`,
    () => {
      seen.push(...updatesOf(client));
      const told = new Set(seen);
      return uris.every((uri) => told.has(uri)) ? seen : undefined;
    },
    20_000
  );
}

/** Waits until the list was said to have changed; forgets all that was said. */
export async function listChanged(client: McpClient): Promise<void> {
  await until(
    'a changed list',
    () =>
      client.notifications.some(
        ({ method }) => method === 'notifications/resources/list_changed'
      ) || undefined
  );
  client.notifications.splice(0);
}
