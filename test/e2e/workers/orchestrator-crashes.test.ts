import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
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
  typesOf,
  workerIs,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

describe.each(backends)('a worker that crashes (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;

  afterEach(() => stage?.close());

  async function begin(settings: Record<string, unknown>): Promise<McpClient> {
    stage = createOrchestratorStage(backend, { settings });
    return stage.serve();
  }

  const agents = () =>
    backend === 'tmux'
      ? stage
          .screen()
          .panes()
          .flatMap(({ agent }) => agent || [])
      : [];

  /** Ends what runs of it as a machine does that has no memory left. */
  function kill(agentId: string): void {
    for (const pid of stage.processes(agentId))
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended with another of them.
      }
  }

  testHere('stays so when it is never restarted', async () => {
    const master = await begin({ restart: 'never' });
    const { agent_id, run_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'crashes', 'sleep 0.3\ncrash');
    await enqueued(master, agent_id, 'waits', 'say waits');
    await workerIs(master, agent_id, 'crashed');
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends).toMatchObject([
      {
        task_id: 'crashes',
        type: 'error',
        payload: { code: 'worker_crashed' },
        by: 'troupe'
      }
    ]);
    expect(await workerSeen(master, agent_id)).toMatchObject({
      queue_depth: 1,
      queued_task_ids: ['waits'],
      running_task_id: null,
      tmux_pane_id: null,
      restarts: 0
    });
    const crashed = await eventSeen(master, agent_id, 'crashed');
    expect(crashed.payload).toMatchObject({ restarting: false });
    const late = { agent_id, task: { payload: 'say late' } };
    const { error_code } = await refusalOf(master, 'task_enqueue', late);
    expect(error_code).toBe('agent_over');
    await until('its pane to close', () => agents().length === 0 || undefined);
    expect(stage.processes(agent_id)).toEqual([]);
    const told = stage.lines(broadcastOf(stage, run_id));
    expect(told.filter(({ done }) => done)).toMatchObject([
      { agent_id, task_id: 'crashes' }
    ]);
  });

  testHere('gets its task again when it is restarted', async () => {
    const master = await begin({ restart: 'on-crash', runningTask: 'requeue' });
    const { agent_id, tmux_pane_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'survives', holding);
    await enqueued(master, agent_id, 'next', 'say next');
    await eventSeen(master, agent_id, 'progress', 'survives');
    kill(agent_id);
    await eventSeen(master, agent_id, 'restarted');
    await until('its second delivery', async () => {
      const types = typesOf(await eventsOf(master, agent_id), 'survives');
      return types.filter((type) => type === 'ack').length === 2 || undefined;
    });
    const seen = await workerSeen(master, agent_id);
    expect(seen).toMatchObject({
      status: 'busy',
      running_task_id: 'survives',
      queue_depth: 1,
      restarts: 1
    });
    // It is the same worker in the same place.
    expect(seen.tmux_pane_id).toBe(tmux_pane_id);
    await answerOf(master, 'task_cancel', { agent_id, task_id: 'survives' });
    await taskEnd(master, agent_id, 'next');
    const events = await eventsOf(master, agent_id);
    const types = typesOf(events).filter((type) => /^<(?!deliv)/.test(type));
    expect(types).toEqual([
      '<ready>',
      '<crashed>',
      '<requeued>',
      '<restarted>'
    ]);
    const ends = events.filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['survives', 'canceled'],
      ['next', 'result']
    ]);
  });

  testHere('loses its task where that is wished, and goes on', async () => {
    const master = await begin({ restart: 'on-crash', runningTask: 'fail' });
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'crashes', 'sleep 0.3\ncrash');
    await enqueued(master, agent_id, 'next', 'say next');
    await taskEnd(master, agent_id, 'next');
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends).toMatchObject([
      { task_id: 'crashes', type: 'error', by: 'troupe' },
      { task_id: 'next', type: 'result' }
    ]);
    expect(await workerSeen(master, agent_id)).toMatchObject({
      status: 'ready',
      restarts: 1
    });
  });

  testHere('is given up when it never gets ready again', async () => {
    const master = await begin({ restart: 'on-crash' });
    const { id, desk } = await stage.puppet(master, {
      env: { PUPPET_LIVES: '1' }
    });
    await enqueued(master, id, 'had');
    await answerOf(desk, 'wait_for_command', { timeout_ms: 5000 });
    kill(id);
    const { restarts, queued_task_ids } = await workerIs(master, id, 'crashed');
    expect(restarts).toBe(3);
    expect(queued_task_ids).toEqual(['had']);
    const crashes = (await eventsOf(master, id)).filter(
      ({ type }) => type === 'crashed'
    );
    expect(crashes.map(({ payload }) => payload)).toMatchObject([
      { restarting: true },
      { restarting: true, exit_code: 4 },
      { restarting: true, exit_code: 4 },
      {
        restarting: false,
        exit_code: 4,
        screen: [expect.stringMatching(/^puppet/)]
      }
    ]);
    expect(stage.processes(id)).toEqual([]);
    await until('its pane to close', () => agents().length === 0 || undefined);
    // Nothing more comes of it.
    const deleted = await answerOf(master, 'agent_delete', { agent_id: id });
    expect(deleted).toEqual({ ok: true, status: 'stopped' });
    expect(await taskEnd(master, id, 'had')).toMatchObject({
      type: 'canceled'
    });
  });

  testHere('amid its last tasks leaves none without an end', async () => {
    const master = await begin({ restart: 'never' });
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'last', holding);
    await enqueued(master, agent_id, 'waits', 'say waits');
    await eventSeen(master, agent_id, 'progress', 'last');
    await answerOf(master, 'agent_delete', { agent_id });
    kill(agent_id);
    await workerIs(master, agent_id, 'stopped');
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['last', 'error'],
      ['waits', 'canceled']
    ]);
    await until('its pane to close', () => agents().length === 0 || undefined);
  });

  testHere('amid its last tasks is restarted to finish them', async () => {
    const master = await begin({ restart: 'on-crash' });
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'last', 'sleep 0.5\nsay last');
    await enqueued(master, agent_id, 'waits', 'say waits');
    await eventSeen(master, agent_id, 'progress', 'last');
    await answerOf(master, 'agent_delete', { agent_id });
    kill(agent_id);
    await workerIs(master, agent_id, 'stopped');
    const ends = (await eventsOf(master, agent_id)).filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['last', 'result'],
      ['waits', 'result']
    ]);
  });
});

function broadcastOf({ path }: OrchestratorStage, runId: string): string {
  return join(path, '.agents', 'run', runId, 'broadcast.jsonl');
}
