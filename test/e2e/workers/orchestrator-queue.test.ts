import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
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
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

const names = Array.from({ length: 10 }, (_, index) => `task-${index}`);

describe.each(backends)('the queue of a worker (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;
  let master: McpClient;

  beforeAll(async () => {
    stage = createOrchestratorStage(backend);
    master = await stage.serve();
  });

  afterAll(() => stage?.close());

  testHere('runs ten tasks one after the other, in their order', async () => {
    const { agent_id, paths, run_id } = await createdWorker(master);
    // Another holds it until all of them wait.
    await enqueued(master, agent_id, 'holds', holding);
    await eventSeen(master, agent_id, 'ack', 'holds');
    for (const [index, name] of names.entries()) {
      const script = `sleep 0.05\nsay ${name}`;
      const position = await enqueued(master, agent_id, name, script);
      expect(position).toBe(index + 1);
    }
    const { queue_depth, running_task_id, queued_task_ids } = await workerSeen(
      master,
      agent_id
    );
    expect({ queue_depth, running_task_id, queued_task_ids }).toEqual({
      queue_depth: 10,
      running_task_id: 'holds',
      queued_task_ids: names
    });
    await answerOf(master, 'task_cancel', { agent_id, task_id: 'holds' });
    await taskEnd(master, agent_id, 'task-9');
    const outbox = stage.lines(paths.outbox);
    expect(outbox.map(({ seq }) => seq)).toEqual(
      outbox.map((_, index) => index + 1)
    );
    // Between the first and the last word of one task is none of another.
    const spoken = outbox.flatMap(({ task_id }) => task_id ?? []);
    const turns = spoken.filter((name, index) => spoken[index - 1] !== name);
    expect(turns).toEqual(['holds', ...names]);
    const ends = outbox.filter(({ done }) => done);
    expect(ends.map(({ type, task_id }) => [type, task_id])).toEqual([
      ['canceled', 'holds'],
      ...names.map((name) => ['result', name])
    ]);
    const told = join(stage.path, '.agents', 'run', run_id, 'broadcast.jsonl');
    const broadcast = await until('the broadcast of the last end', () => {
      const ends = stage
        .lines(told)
        .filter((line) => line.agent_id === agent_id && line.done);
      return ends.length > names.length ? ends : undefined;
    });
    expect(broadcast.map(({ task_id }) => task_id)).toEqual([
      'holds',
      ...names
    ]);
    const events = await eventsOf(master, agent_id);
    expect(events).toEqual(outbox);
    const inbox = stage.lines(paths.inbox);
    expect(inbox.map(({ seq, type, task_id }) => [seq, type, task_id])).toEqual(
      [
        [1, 'task', 'holds'],
        ...names.map((name, index) => [index + 2, 'task', name]),
        [12, 'cancel', 'holds']
      ]
    );
    const idle = await workerSeen(master, agent_id);
    expect(idle).toMatchObject({
      status: 'ready',
      queue_depth: 0,
      running_task_id: null,
      last_event_seq: outbox.length
    });
  });

  testHere('takes no task id twice, ended or not', async () => {
    const { agent_id, paths } = await createdWorker(master);
    expect(await enqueued(master, agent_id, 'once', 'hang')).toBe(0);
    expect(await enqueued(master, agent_id, 'second')).toBe(1);
    for (const task_id of ['once', 'second']) {
      const again = { agent_id, task: { task_id, payload: 'say again' } };
      const { error_code } = await refusalOf(master, 'task_enqueue', again);
      expect(error_code).toBe('task_exists');
    }
    const canceled = await answerOf(master, 'task_cancel', {
      agent_id,
      task_id: 'second'
    });
    expect(canceled).toEqual({ ok: true, state: 'canceled' });
    const late = { agent_id, task: { task_id: 'second', payload: 'again' } };
    const { error_code } = await refusalOf(master, 'task_enqueue', late);
    expect(error_code).toBe('task_exists');
    const given = stage
      .lines(paths.inbox)
      .filter(({ type }) => type === 'task');
    expect(given.map(({ task_id }) => task_id)).toEqual(['once', 'second']);
    // Another worker may have a task of that name.
    const other = await createdWorker(master);
    expect(await enqueued(master, other.agent_id, 'once')).toBe(0);
  });

  testHere('gives tasks that come at once to each its own place', async () => {
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'holds', 'hang');
    const many = Array.from({ length: 30 }, (_, index) => `many-${index}`);
    const second = await stage.serve();
    const positions = await Promise.all(
      many.map((name, index) =>
        enqueued(index % 2 ? second : master, agent_id, name)
      )
    );
    expect(positions.toSorted((a, b) => Number(a) - Number(b))).toEqual(
      many.map((_, index) => index + 1)
    );
    const { queued_task_ids } = await workerSeen(second, agent_id);
    const inPlace = many.toSorted(
      (a, b) =>
        Number(positions[many.indexOf(a)]) - Number(positions[many.indexOf(b)])
    );
    expect(queued_task_ids).toEqual(inPlace);
  });
});
