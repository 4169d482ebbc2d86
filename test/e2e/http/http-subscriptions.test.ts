import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  httpClient,
  type StartedHttp,
  startHttp
} from '../../kit/servers/http-server.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import { answerOf } from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { rawClient } from '../../kit/servers/raw-http.ts';

let stage: OrchestratorStage;
let master: McpClient;
let server: StartedHttp;

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  [master, server] = await Promise.all([stage.serve(), startHttp(stage)]);
});

afterAll(async () => {
  await server?.end();
  await stage?.close();
});

/** A client, and the URIs of its notifications. */
async function follower() {
  const client = await httpClient(server);
  const told: string[] = [];
  let isTold = (): void => undefined;
  client.sdk.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => {
      told.push(params.uri);
      isTold();
    }
  );
  const next = () =>
    new Promise<void>((resolve) => {
      isTold = resolve;
    });
  return { client, told, next };
}

test('a session is notified of what it follows, and of nothing that another follows', async () => {
  const { id, desk } = await stage.puppet(master);
  const uri = `agent://${id}/outbox`;
  const [one, two, three] = await Promise.all([
    follower(),
    follower(),
    follower()
  ]);
  for (const { client } of [one, two])
    await client.sdk.subscribeResource({ uri });
  const say = () =>
    answerOf(desk, 'emit_event', { type: 'progress', payload: 'on my way' });
  const both = Promise.all([one.next(), two.next()]);
  await say();
  await both;
  expect(new Set([...one.told, ...two.told])).toEqual(new Set([uri]));

  await two.client.leave();
  const { length } = two.told;
  const again = one.next();
  await say();
  await again;
  expect(two.told).toHaveLength(length);
  expect(three.told).toEqual([]);
  expect(server.command.stderr).not.toContain('bug');
});

test('a session is notified of new ones', async () => {
  const { client } = await follower();
  const before = await client.sdk.listResources();
  const changed = new Promise<void>((resolve) =>
    client.sdk.setNotificationHandler(
      ResourceListChangedNotificationSchema,
      () => resolve()
    )
  );
  await stage.puppet(master);
  await changed;
  const after = await client.sdk.listResources();
  expect(after.resources.length).toBeGreaterThan(before.resources.length);
});

test('a session without a stream is notified once of what changed meanwhile', async () => {
  const { id, desk } = await stage.puppet(master);
  const client = await rawClient(server);
  const uris = [`agent://${id}/outbox`, `agent://${id}/status`];
  for (const uri of uris) await client.ask('resources/subscribe', { uri });
  await client.ask('resources/list');
  const updates = (text: string) =>
    [...text.matchAll(/resources\/updated.*?"uri":"([^"]*)"/g)].map(
      ([, uri]) => uri
    );
  const say = () =>
    answerOf(desk, 'emit_event', { type: 'progress', payload: 'on my way' });

  await say();
  await stage.puppet(master);
  const first = client.begin('', 'GET');
  await first.says(/outbox/);
  await first.says(/list_changed/);
  await first.cut();
  await say();
  const second = client.begin('', 'GET');
  await second.says(/outbox/);
  await say();
  await second.says(/outbox.*outbox/s);
  const text = second.soFar();
  expect(updates(text)).toEqual([uris[0], uris[0]]);
  expect(text).not.toContain('list_changed');
  await second.cut();
});
