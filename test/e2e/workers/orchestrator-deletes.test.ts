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
  typesOf,
  workerIs,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

describe.each(backends)('agent_delete (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;
  let master: McpClient;

  beforeAll(async () => {
    stage = createOrchestratorStage(backend);
    master = await stage.serve();
  });

  afterAll(() => stage?.close());

  const remove = (agent_id: string, args: Record<string, unknown> = {}) =>
    answerOf(master, 'agent_delete', { agent_id, ...args });
  const agents = () =>
    backend === 'tmux'
      ? stage
          .screen()
          .panes()
          .map(({ agent }) => agent)
      : [];

  /** Nothing of it runs or shows, and all that was is still known. */
  async function isGone(agent_id: string): Promise<void> {
    expect(stage.processes(agent_id)).toEqual([]);
    expect(agents()).not.toContain(agent_id);
    const seen = await workerSeen(master, agent_id);
    expect(seen).toMatchObject({
      status: 'stopped',
      tmux_pane_id: null,
      queue_depth: 0,
      running_task_id: null
    });
    const listed = await workersSeen(master, 'all');
    expect(listed.map((one) => one.agent_id)).toContain(agent_id);
    const events = await eventsOf(master, agent_id);
    expect(events.at(-1)).toMatchObject({ type: 'stopped', by: 'troupe' });
    expect(events).toEqual(stage.lines(stage.file(agent_id, 'outbox.jsonl')));
    const late = { agent_id, task: { payload: 'say late' } };
    const { error_code } = await refusalOf(master, 'task_enqueue', late);
    expect(error_code).toBe('agent_over');
  }

  testHere('stops a worker that has nothing to do', async () => {
    const { agent_id } = await createdWorker(master);
    expect(await remove(agent_id)).toEqual({ ok: true, status: 'stopped' });
    await isGone(agent_id);
    const before = await eventsOf(master, agent_id);
    expect(typesOf(before)).toEqual(['<ready>', '<stopping>', '<stopped>']);
    // Twice is once.
    for (const args of [{}, { force: true }])
      expect(await remove(agent_id, args)).toEqual({
        ok: true,
        status: 'stopped'
      });
    expect(await eventsOf(master, agent_id)).toEqual(before);
  });

  testHere('lets a worker finish what it has and what waits', async () => {
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'runs', 'sleep 0.5\nsay runs');
    await enqueued(master, agent_id, 'waits', 'say waits');
    await eventSeen(master, agent_id, 'ack', 'runs');
    expect(await remove(agent_id)).toMatchObject({ ok: true });
    const late = { agent_id, task: { payload: 'say late' } };
    const { error_code, error } = await refusalOf(master, 'task_enqueue', late);
    expect(error_code).toBe('agent_over');
    expect(error).toMatch(/stopping|stopped/);
    await workerIs(master, agent_id, 'stopped');
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['runs', 'result'],
      ['waits', 'result']
    ]);
    await until(
      'its pane to close',
      () => !agents().includes(agent_id) || undefined
    );
    await isGone(agent_id);
  });

  testHere('ends by force only what it may', async () => {
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'runs', holding);
    await enqueued(master, agent_id, 'waits', 'say waits');
    await eventSeen(master, agent_id, 'ack', 'runs');
    const force = { agent_id, force: true };
    const refused = await refusalOf(master, 'agent_delete', force);
    expect(refused.error_code).toBe('needs_confirm');
    expect(refused.error).toContain('runs');
    expect(refused.hint).toContain('confirm: true');
    expect(await workerSeen(master, agent_id)).toMatchObject({
      status: 'busy',
      queue_depth: 1
    });
    expect(await remove(agent_id, { force: true, confirm: true })).toEqual({
      ok: true,
      status: 'stopped'
    });
    await isGone(agent_id);
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['runs', 'canceled'],
      ['waits', 'canceled']
    ]);
  });

  testHere('ends by force at once what is about to stop', async () => {
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'hangs', 'hang');
    await eventSeen(master, agent_id, 'ack', 'hangs');
    expect(await remove(agent_id)).toEqual({ ok: true, status: 'busy' });
    expect(await workerSeen(master, agent_id)).toMatchObject({
      stop_requested: true
    });
    expect(await remove(agent_id, { force: true, confirm: true })).toEqual({
      ok: true,
      status: 'stopped'
    });
    await isGone(agent_id);
  });

  testHere('needs no confirmation while no task runs', async () => {
    const { id } = await stage.puppet(master);
    await enqueued(master, id, 'waits');
    expect(await remove(id, { force: true })).toEqual({
      ok: true,
      status: 'stopped'
    });
    await isGone(id);
    const ends = (await eventsOf(master, id)).filter(({ done }) => done);
    expect(ends).toMatchObject([{ task_id: 'waits', type: 'canceled' }]);
  });

  testHere('ends a program that does not listen', async () => {
    const { id, desk } = await stage.puppet(master);
    expect(await remove(id)).toMatchObject({ ok: true });
    const told = await answerOf(desk, 'wait_for_command', { timeout_ms: 5000 });
    expect(told).toMatchObject({ command: { type: 'stop' } });
    await workerIs(master, id, 'stopped');
    await until('its end', () => !agents().includes(id) || undefined);
    await isGone(id);
  });

  testHere('clears what a crashed worker has left', async () => {
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'crashes', 'sleep 0.3\ncrash');
    await enqueued(master, agent_id, 'left', 'say left');
    await workerIs(master, agent_id, 'crashed');
    expect(await remove(agent_id)).toEqual({ ok: true, status: 'stopped' });
    await isGone(agent_id);
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['crashes', 'error'],
      ['left', 'canceled']
    ]);
  });

  testHere('is done once when two masters do it at once', async () => {
    const other = await stage.serve();
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'runs', holding);
    await eventSeen(master, agent_id, 'ack', 'runs');
    const force = { agent_id, force: true, confirm: true };
    const answers = await Promise.all([
      answerOf(master, 'agent_delete', force),
      answerOf(other, 'agent_delete', force)
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['stopped', 'stopped']);
    await isGone(agent_id);
    const types = typesOf(await eventsOf(master, agent_id));
    expect(types.filter((type) => /cancel|stopped/.test(type))).toEqual([
      '<canceled>',
      '<stopped>'
    ]);
  });

  testHere('knows only workers', async () => {
    for (const agent_id of ['ffffffff', '', '..', 'FFFFFFFF', '%1']) {
      const { error_code } = await refusalOf(master, 'agent_delete', {
        agent_id,
        force: true,
        confirm: true
      });
      expect(error_code).toMatch(/^(unknown_agent|invalid_input)$/);
    }
    const nobody = { agent_id: 'ffffffff' };
    for (const tool of ['agent_get', 'agent_delete', 'events_read']) {
      const { error_code, error, hint } = await refusalOf(master, tool, nobody);
      expect(error_code).toBe('unknown_agent');
      expect(error).toContain('ffffffff');
      expect(hint).toContain('agent_list');
    }
  });
});
