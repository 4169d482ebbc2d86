import { afterEach, describe, expect, test } from 'vitest';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventsOf,
  taskEnd,
  typesOf,
  workerIs,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

let stage: OrchestratorStage;

afterEach(() => stage?.close());

async function begin() {
  const settings = { stalledAfterSeconds: 2, restart: 'on-crash' };
  stage = createOrchestratorStage('process', { settings });
  const master = await stage.serve();
  const { id, desk } = await stage.puppet(master);
  return { master, id, desk };
}

const wait = { timeout_ms: 5000 };

describe('a worker that is silent for too long', () => {
  test('is stalled until it says a word', async () => {
    const { master, id, desk } = await begin();
    await enqueued(master, id, 'slow');
    await answerOf(desk, 'wait_for_command', wait);
    await workerIs(master, id, 'stalled');
    const seen = await workerSeen(master, id);
    expect(seen).toMatchObject({ running_task_id: 'slow' });
    await answerOf(desk, 'emit_event', { type: 'heartbeat' });
    expect(await workerSeen(master, id)).toMatchObject({ status: 'busy' });
    // And again, as often as it happens.
    await workerIs(master, id, 'stalled');
    const given = await answerOf(desk, 'wait_for_command', wait);
    expect(given).toMatchObject({ command: { task_id: 'slow' } });
    expect(await workerSeen(master, id)).toMatchObject({ status: 'busy' });
    const types = typesOf(await eventsOf(master, id)).slice(1);
    expect(types).toEqual([
      '<delivered>',
      '<stalled>',
      '<resumed>',
      'heartbeat',
      '<stalled>',
      '<resumed>'
    ]);
    const broadcast = stage
      .lines(`${stage.path}/.agents/run/${seen.run_id}/broadcast.jsonl`)
      .filter(({ type }) => type === 'stalled');
    expect(broadcast).toHaveLength(2);
  });

  test('may end its task late, and goes on', async () => {
    const { master, id, desk } = await begin();
    await enqueued(master, id, 'late');
    await enqueued(master, id, 'next');
    await answerOf(desk, 'wait_for_command', wait);
    await workerIs(master, id, 'stalled');
    await answerOf(desk, 'emit_event', { type: 'result', task_id: 'late' });
    expect(await workerSeen(master, id)).toMatchObject({
      status: 'ready',
      queue_depth: 1
    });
    expect(await taskEnd(master, id, 'late')).toMatchObject({ type: 'result' });
    const given = await answerOf(desk, 'wait_for_command', wait);
    expect(given).toMatchObject({ command: { task_id: 'next' } });
    // Silence alone is no crash.
    const types = typesOf(await eventsOf(master, id));
    expect(types).not.toContain('<crashed>');
    expect(types).not.toContain('<requeued>');
  });

  test('can be canceled and ended', async () => {
    const { master, id, desk } = await begin();
    await enqueued(master, id, 'slow');
    await answerOf(desk, 'wait_for_command', wait);
    await workerIs(master, id, 'stalled');
    const cancel = { agent_id: id, task_id: 'slow' };
    expect(await answerOf(master, 'task_cancel', cancel)).toMatchObject({
      state: 'cancel_requested'
    });
    const force = { agent_id: id, force: true, confirm: true };
    expect(await answerOf(master, 'agent_delete', force)).toEqual({
      ok: true,
      status: 'stopped'
    });
    expect(await taskEnd(master, id, 'slow')).toMatchObject({
      type: 'canceled'
    });
  });
});

test('a worker that waits for work is not silent', async () => {
  stage = createOrchestratorStage('process', {
    settings: { stalledAfterSeconds: 2 }
  });
  const master = await stage.serve();
  const silent = await stage.puppet(master);
  const { agent_id } = await createdWorker(master);
  // Long enough for the other one to be stalled twice.
  for (let times = 0; times < 2; times += 1) {
    await workerIs(master, silent.id, 'stalled');
    await answerOf(silent.desk, 'emit_event', { type: 'heartbeat' });
  }
  expect(typesOf(await eventsOf(master, agent_id))).toEqual(['<ready>']);
});
