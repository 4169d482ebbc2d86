import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  enqueued,
  eventsOf,
  refusalOf,
  typesOf
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
});

afterAll(() => stage?.close());

/** For a machine that has much else to do. */
const slackMs = 3000;

describe('wait_for_command', () => {
  test.concurrent.each([
    [0, 0],
    [1, 1],
    [250, 250],
    [0.5, 0.5],
    // No client is asked to be more patient than it is.
    [60_000, 50_000],
    [1e12, 50_000]
  ])('of %d ms is answered after %d ms', async (timeout_ms, expectedMs) => {
    const { desk } = await stage.puppet(master);
    const began = performance.now();
    const answer = await answerOf(desk, 'wait_for_command', { timeout_ms });
    const tookMs = performance.now() - began;
    expect(answer).toEqual({ status: 'timeout', cursor: 0 });
    expect(tookMs).toBeGreaterThanOrEqual(expectedMs);
    expect(tookMs).toBeLessThan(expectedMs + slackMs);
  });

  test.each([
    [{ timeout_ms: -1 }],
    [{ timeout_ms: 'soon' }],
    [{ timeout_ms: null }],
    [{}],
    [{ timeout_ms: 1, cursor: -1 }],
    [{ timeout_ms: 1, patience: 2 }]
  ])('with %j is refused at once', async (args) => {
    const { desk } = await stage.puppet(master);
    const { error_code } = await refusalOf(desk, 'wait_for_command', args);
    expect(error_code).toBe('invalid_input');
  });

  test('is woken at once by a task of another process', async () => {
    const { id, desk } = await stage.puppet(master);
    const lateMs: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const task_id = `wakes-${round}`;
      const waiting = answerOf(desk, 'wait_for_command', {
        timeout_ms: 30_000
      }).then((answer) => ({ answer, at: performance.now() }));
      await enqueued(master, id, task_id, { round });
      const enqueuedAt = performance.now();
      const { answer, at } = await waiting;
      lateMs.push(at - enqueuedAt);
      expect(answer).toEqual({
        status: 'command',
        command: { type: 'task', task_id, payload: { round } },
        cursor: round + 1
      });
      await answerOf(desk, 'emit_event', { type: 'result', done: true });
    }
    // One may be held up by the machine; most are not.
    const middle = lateMs.toSorted((a, b) => a - b)[10];
    expect(middle).toBeLessThan(200);
  });

  test('is woken at once by the end of its worker', async () => {
    const { id, desk } = await stage.puppet(master);
    const waiting = answerOf(desk, 'wait_for_command', { timeout_ms: 30_000 });
    const deleting = answerOf(master, 'agent_delete', { agent_id: id });
    const answer = await waiting;
    expect(answer).toMatchObject({
      status: 'command',
      command: { type: 'stop' }
    });
    expect(await deleting).toEqual({ ok: true, status: 'stopped' });
  });

  test('gives a task again that has not ended, and says so', async () => {
    const { id, desk } = await stage.puppet(master);
    await enqueued(master, id, 'twice', { text: 'ä\u2028😀' });
    const wait = { timeout_ms: 5000 };
    const first = await answerOf(desk, 'wait_for_command', wait);
    const payload = { text: 'ä\u2028😀' };
    expect(first).toMatchObject({
      command: { type: 'task', task_id: 'twice', payload }
    });
    expect(first.command).not.toHaveProperty('redelivered');
    const second = await answerOf(desk, 'wait_for_command', wait);
    expect(second).toMatchObject({
      command: { type: 'task', task_id: 'twice', payload, redelivered: true }
    });
  });

  test('loses no task when its client has given it up', async () => {
    const { id, desk } = await stage.puppet(master);
    const { desk: other } = await stage.puppet(master);
    for (let round = 0; round < 10; round += 1) {
      const task_id = `kept-${round}`;
      const givenUp = sendWait(desk, 10_000 + round);
      const isEarly = round % 2 === 0;
      if (isEarly) cancel(desk, givenUp);
      const giving = enqueued(master, id, task_id, round);
      if (!isEarly) cancel(desk, givenUp);
      await giving;
      // As long as a wait that goes on would need to see it.
      await answerOf(other, 'wait_for_command', { timeout_ms: 100 });
      const wait = { timeout_ms: 10_000 };
      const answer = await answerOf(desk, 'wait_for_command', wait);
      expect(answer).toMatchObject({ command: { type: 'task', task_id } });
      // A client that had left before got nothing.
      if (isEarly) expect(answer.command).not.toHaveProperty('redelivered');
      await answerOf(desk, 'emit_event', { type: 'result', task_id });
      const types = typesOf(await eventsOf(master, id), task_id);
      expect(types).toEqual(['<delivered>', 'result']);
    }
  });

  test('loses no task when its client dies at that moment', async () => {
    const { id, desk } = await stage.puppet(master);
    sendWait(desk, 10_000);
    const giving = enqueued(master, id, 'survives');
    desk.child.kill('SIGKILL');
    await giving;
    const next = await stage.serveWorker(id);
    const answer = await answerOf(next, 'wait_for_command', {
      timeout_ms: 10_000
    });
    expect(answer).toMatchObject({
      command: { type: 'task', task_id: 'survives' }
    });
    await answerOf(next, 'emit_event', { type: 'result' });
    const ends = (await eventsOf(master, id)).filter(({ done }) => done);
    expect(ends).toHaveLength(1);
  });

  test('of two servers of one worker gives a task to be done once', async () => {
    const { id, desk } = await stage.puppet(master);
    const other = await stage.serveWorker(id);
    const waits = [desk, other].map((server) =>
      answerOf(server, 'wait_for_command', { timeout_ms: 10_000 })
    );
    await enqueued(master, id, 'one');
    const answers = await Promise.all(waits);
    const again = answers.filter(({ command }) =>
      Object.hasOwn(Object(command), 'redelivered')
    );
    expect(again).toHaveLength(1);
    await answerOf(other, 'emit_event', { type: 'result', task_id: 'one' });
    const second = { type: 'result', task_id: 'one' };
    const { error_code } = await refusalOf(desk, 'emit_event', second);
    expect(error_code).toBe('already_done');
    await until('one delivery and one end', async () => {
      const types = typesOf(await eventsOf(master, id), 'one');
      return types.join() === '<delivered>,result' || undefined;
    });
  });
});

/** A call whose answer no client waits for. */
function sendWait(desk: McpClient, id: number): number {
  desk.send({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'wait_for_command', arguments: { timeout_ms: 30_000 } }
  });
  return id;
}

function cancel(desk: McpClient, requestId: number): void {
  desk.send({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId }
  });
}
