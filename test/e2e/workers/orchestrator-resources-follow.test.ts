import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import {
  eventsRead,
  listChanged,
  resourcesListed,
  subscribe,
  unsubscribe,
  updated,
  updatesOf
} from '../../kit/servers/resource-calls.ts';

let stage: OrchestratorStage;
let master: McpClient;

/** Says something; it is another process that does. */
const say = (desk: McpClient) =>
  answerOf(desk, 'emit_event', { type: 'progress', payload: 'on my way' });

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
});

afterAll(() => stage?.close());

describe('a subscription', () => {
  test('notifies of an outbox, by the very URIs that were given', async () => {
    const { id, desk } = await stage.puppet(master);
    const plain = `agent://${id}/outbox`;
    const uris = [plain, `${plain}?tail=200`, `${plain}?tail=1`];
    await subscribe(master, ...uris);
    await say(desk);
    const told = await updated(master, ...uris);
    expect(new Set(told)).toEqual(new Set(uris));
    const [last] = await eventsRead(master, `${plain}?tail=1`);
    expect(last?.type).toBe('progress');
  });

  test('notifies of a meta when a task waits, of the rest when it is given', async () => {
    const { id, desk } = await stage.puppet(master);
    const { run_id } = await workerSeen(master, id);
    const other = await stage.serve();
    const [meta, ...rest] = [
      `agent://${id}/meta`,
      `agent://${id}/outbox`,
      `run://${run_id}/broadcast`
    ];
    await subscribe(other, meta, ...rest);
    await enqueued(master, id, 'waits');
    expect(new Set(await updated(other, meta))).toEqual(new Set([meta]));
    await answerOf(desk, 'wait_for_command', { timeout_ms: 0 });
    await updated(other, meta, ...rest);
  });

  test('notifies of one thing, not of its neighbours', async () => {
    const [one, two] = [await stage.puppet(master), await stage.puppet(master)];
    const other = await stage.serve();
    const uris = [one.id, two.id].map((id) => `agent://${id}/outbox`);
    await subscribe(other, ...uris);
    await say(one.desk);
    await updated(other, `agent://${one.id}/outbox`);
    await say(two.desk);
    expect(new Set(await updated(other, `agent://${two.id}/outbox`))).toEqual(
      new Set([`agent://${two.id}/outbox`])
    );
  });

  test('ends when it is taken back, and its neighbour goes on', async () => {
    const { id, desk } = await stage.puppet(master);
    const other = await stage.serve();
    const plain = `agent://${id}/outbox`;
    await subscribe(other, plain, `${plain}?tail=5`);
    await unsubscribe(other, plain, `agent://${id}/meta`);
    await say(desk);
    expect(new Set(await updated(other, `${plain}?tail=5`))).toEqual(
      new Set([`${plain}?tail=5`])
    );
    // All are taken back at once, and then one is made again.
    await unsubscribe(other, `${plain}?tail=5`);
    await say(desk);
    await subscribe(other, `agent://${id}/meta`);
    await say(desk);
    await updated(other, `agent://${id}/meta`);
    expect(updatesOf(other)).not.toContain(`${plain}?tail=5`);
  });

  test('taken back in one breath is not there', async () => {
    const { id, desk } = await stage.puppet(master);
    const other = await stage.serve();
    const uri = `agent://${id}/outbox`;
    await Promise.all([
      other.request('resources/subscribe', { uri }),
      other.request('resources/unsubscribe', { uri }),
      other.request('resources/subscribe', { uri: `agent://${id}/meta` })
    ]);
    await say(desk);
    expect(new Set(await updated(other, `agent://${id}/meta`))).toEqual(
      new Set([`agent://${id}/meta`])
    );
  });

  test('can be one of a thousand', async () => {
    const { id, desk } = await stage.puppet(master);
    const other = await stage.serve();
    const uris = Array.from(
      { length: 1000 },
      (_, index) => `agent://${id}/outbox?tail=${index + 1}`
    );
    await subscribe(other, ...uris);
    for (let count = 0; count < 20; count += 1) await say(desk);
    await updated(other, ...uris);
    expect(await eventsRead(other, `agent://${id}/outbox?tail=1`)).toHaveLength(
      1
    );
    // A server that follows as much as this ends as soon as any.
    expect(await other.close()).toEqual({ code: 0, signal: null });
  });
});

describe('the list of resources', () => {
  test('is said to have changed when workers come, and when they end', async () => {
    const other = await stage.serve();
    const before = await resourcesListed(other);
    const { agent_id } = await createdWorker(master, { name: 'Grace' });
    await listChanged(other);
    const uri = `agent://${agent_id}/outbox`;
    const [broadcast, outbox, , ...rest] = await resourcesListed(other);
    expect(outbox).toMatchObject({ uri, name: 'outbox of Grace' });
    expect([broadcast, ...rest]).toEqual(before);
    await answerOf(master, 'agent_delete', { agent_id, force: true });
    await listChanged(other);
    const after = await resourcesListed(other);
    expect(after.at(-2)).toMatchObject({
      uri,
      description: expect.stringMatching(/ It has ended\.$/)
    });
  });

  test('sends no change to a client that never asked for it', async () => {
    const [asking, other] = [await stage.serve(), await stage.serve()];
    await resourcesListed(asking);
    const { agent_id } = await createdWorker(master);
    await listChanged(asking);
    await answerOf(master, 'agent_delete', { agent_id, force: true });
    await listChanged(asking);
    // Its answers come in the order of what it says.
    await other.request('ping');
    expect(other.notifications).toEqual([]);
  });
});
