import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventSeen,
  eventsOf,
  holding,
  refusalOf,
  taskEnd,
  typesOf,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

const wait = { timeout_ms: 10_000 };

describe.each(backends)('task_cancel (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;
  let master: McpClient;

  beforeAll(async () => {
    stage = createOrchestratorStage(backend);
    master = await stage.serve();
  });

  afterAll(() => stage?.close());

  const cancel = (agent_id: string, task_id: string) =>
    answerOf(master, 'task_cancel', { agent_id, task_id });

  testHere('ends a running task at its next safe point', async () => {
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'long', holding);
    await enqueued(master, agent_id, 'next', 'say next');
    await eventSeen(master, agent_id, 'progress', 'long');
    expect(await cancel(agent_id, 'long')).toEqual({
      ok: true,
      state: 'cancel_requested'
    });
    const end = await taskEnd(master, agent_id, 'long');
    expect(end).toMatchObject({ type: 'canceled', done: true });
    expect(end.by).toBeUndefined();
    expect(await taskEnd(master, agent_id, 'next')).toMatchObject({
      type: 'result'
    });
  });

  testHere('is seen by both tools until the task has ended', async () => {
    const { id, desk } = await stage.puppet(master);
    const emit = (type: string) => answerOf(desk, 'emit_event', { type });
    await enqueued(master, id, 'told');
    const given = await answerOf(desk, 'wait_for_command', wait);
    expect(given).not.toHaveProperty('cancel_requested');
    expect(await emit('ack')).not.toHaveProperty('cancel_requested');
    await cancel(id, 'told');
    expect(await workerSeen(master, id)).toMatchObject({
      status: 'busy',
      running_task_id: 'told',
      cancel_requested: true
    });
    expect(await emit('progress')).toMatchObject({ cancel_requested: true });
    expect(await answerOf(desk, 'wait_for_command', wait)).toMatchObject({
      command: { task_id: 'told', redelivered: true },
      cancel_requested: true
    });
    // To ask again changes nothing.
    expect(await cancel(id, 'told')).toEqual({
      ok: true,
      state: 'cancel_requested'
    });
    expect(await emit('heartbeat')).toMatchObject({ cancel_requested: true });
    expect(await emit('canceled')).not.toHaveProperty('cancel_requested');
    expect(await emit('note')).not.toHaveProperty('cancel_requested');
    expect(await workerSeen(master, id)).not.toHaveProperty('cancel_requested');
    const types = typesOf(await eventsOf(master, id), 'told');
    expect(types).toEqual([
      '<delivered>',
      'ack',
      'progress',
      'heartbeat',
      'canceled'
    ]);
    const inbox = stage.lines(stage.file(id, 'inbox.jsonl'));
    expect(inbox[1]).toMatchObject({ type: 'cancel', task_id: 'told' });
  });

  testHere('comes too late for a worker that is done', async () => {
    const { id, desk } = await stage.puppet(master);
    await enqueued(master, id, 'faster');
    await answerOf(desk, 'wait_for_command', wait);
    await cancel(id, 'faster');
    await answerOf(desk, 'emit_event', { type: 'result', done: true });
    const end = await taskEnd(master, id, 'faster');
    expect(end).toMatchObject({ type: 'result' });
  });

  testHere('takes a waiting task out of the queue at once', async () => {
    const { id, desk } = await stage.puppet(master);
    for (const task_id of ['one', 'two', 'three', 'four'])
      await enqueued(master, id, task_id);
    expect(await cancel(id, 'one')).toEqual({ ok: true, state: 'canceled' });
    expect(await cancel(id, 'three')).toEqual({ ok: true, state: 'canceled' });
    expect(await workerSeen(master, id)).toMatchObject({
      queue_depth: 2,
      queued_task_ids: ['two', 'four']
    });
    expect(await enqueued(master, id, 'five')).toBe(2);
    for (const task_id of ['two', 'four', 'five']) {
      const given = await answerOf(desk, 'wait_for_command', wait);
      expect(given).toMatchObject({ command: { task_id } });
      expect(given).not.toHaveProperty('cancel_requested');
      await answerOf(desk, 'emit_event', { type: 'result' });
    }
    for (const task_id of ['one', 'three']) {
      const types = typesOf(await eventsOf(master, id), task_id);
      expect(types).toEqual(['<canceled>']);
    }
  });

  testHere('refuses what has ended, or never was', async () => {
    const { id, desk } = await stage.puppet(master);
    await enqueued(master, id, 'done');
    await answerOf(desk, 'wait_for_command', wait);
    await answerOf(desk, 'emit_event', { type: 'result' });
    await enqueued(master, id, 'gone');
    await cancel(id, 'gone');
    const before = stage.lines(stage.file(id, 'inbox.jsonl'));
    const codes: Record<string, string> = {
      done: 'already_done',
      gone: 'already_done',
      never: 'unknown_task'
    };
    for (const [task_id, code] of Object.entries(codes)) {
      const asked = { agent_id: id, task_id };
      const { error_code } = await refusalOf(master, 'task_cancel', asked);
      expect(error_code).toBe(code);
    }
    const nobody = { agent_id: 'ffffffff', task_id: 'done' };
    const { error_code } = await refusalOf(master, 'task_cancel', nobody);
    expect(error_code).toBe('unknown_agent');
    expect(stage.lines(stage.file(id, 'inbox.jsonl'))).toEqual(before);
  });

  testHere('and the end of the task race to one end', async () => {
    const { id, desk } = await stage.puppet(master);
    for (let round = 0; round < 15; round += 1) {
      const task_id = `race-${round}`;
      await enqueued(master, id, task_id);
      await answerOf(desk, 'wait_for_command', wait);
      const [told] = await Promise.all([
        desk.call('emit_event', { type: 'result', task_id }),
        master.call('task_cancel', { agent_id: id, task_id })
      ]);
      expect(told.isError).toBe(false);
      const ends = (await eventsOf(master, id)).filter(
        (event) => event.task_id === task_id && event.done
      );
      expect(ends).toMatchObject([{ type: 'result' }]);
    }
  });

  testHere('and the delivery of the task race to one end', async () => {
    const { id, desk } = await stage.puppet(master);
    for (let round = 0; round < 15; round += 1) {
      const task_id = `given-${round}`;
      await enqueued(master, id, task_id);
      const [given, canceled] = await Promise.all([
        answerOf(desk, 'wait_for_command', { timeout_ms: 0 }),
        cancel(id, task_id)
      ]);
      // Canceled at once, or never handed out.
      const isGiven = given.status === 'command';
      expect(canceled.state === 'cancel_requested').toBe(isGiven);
      if (isGiven) await answerOf(desk, 'emit_event', { type: 'canceled' });
      const ends = (await eventsOf(master, id)).filter(
        (event) => event.task_id === task_id && event.done
      );
      expect(ends).toHaveLength(1);
    }
  });
});
