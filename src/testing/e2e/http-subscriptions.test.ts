import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { httpClient, type StartedHttp, startHttp } from '../http-server.ts';
import type { McpClient } from '../mcp-client.ts';
import { answerOf } from '../orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../orchestrator-stage.ts';

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

/** A client, and the URIs that it is told of. */
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

test('a session is told of what it follows, and of nothing that another does', async () => {
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

test('a session is told that there are more of them', async () => {
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
