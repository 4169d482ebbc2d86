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
  taskEnd,
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

describe.each(backends)('a master that is killed (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;
  let master: McpClient;

  async function begin(settings: Record<string, unknown> = {}): Promise<void> {
    stage = createOrchestratorStage(backend, { settings });
    master = await stage.serve();
  }

  afterEach(() => stage?.close());

  const panes = () =>
    backend === 'tmux'
      ? stage
          .screen()
          .panes()
          .filter(({ agent }) => agent !== '')
      : [];

  testHere('leaves workers that go on, and the next one has them', async () => {
    await begin();
    const { agent_id, run_id, tmux_pane_id } = await createdWorker(master);
    const idle = await createdWorker(master, { name: 'idle' });
    await enqueued(master, agent_id, 'long', holding);
    await enqueued(master, agent_id, 'after', 'say after');
    await eventSeen(master, agent_id, 'ack', 'long');
    await stage.kill(master);
    const next = await stage.serve();
    const seen = await workersSeen(next);
    expect(seen).toMatchObject([
      {
        agent_id,
        status: 'busy',
        running_task_id: 'long',
        queue_depth: 1,
        tmux_pane_id,
        run_id
      },
      { agent_id: idle.agent_id, status: 'ready', running_task_id: null }
    ]);
    const before = (await eventsOf(next, agent_id)).length;
    await until('the task to go on', async () => {
      const { last_event_seq } = await workerSeen(next, agent_id);
      return last_event_seq > before || undefined;
    });
    expect(await enqueued(next, agent_id, 'new', 'say new')).toBe(2);
    await answerOf(next, 'task_cancel', { agent_id, task_id: 'long' });
    await taskEnd(next, agent_id, 'new');
    const events = await eventsOf(next, agent_id);
    const ends = events.filter(({ done }) => done);
    expect(ends.map(({ task_id, type }) => [task_id, type])).toEqual([
      ['long', 'canceled'],
      ['after', 'result'],
      ['new', 'result']
    ]);
    expect(typesOf(events).filter((type) => /ready|start/.test(type))).toEqual([
      '<ready>'
    ]);
    const third = await createdWorker(next);
    expect(third.run_id).toBe(run_id);
    expect(panes()).toHaveLength(backend === 'tmux' ? 3 : 0);
    for (const id of [agent_id, idle.agent_id, third.agent_id]) {
      const ended = await answerOf(next, 'agent_delete', { agent_id: id });
      expect(ended).toEqual({ ok: true, status: 'stopped' });
    }
    await until('its panes are closed', () => panes().length === 0);
    expect(stage.processes('')).toEqual([]);
  });

  testHere('has missed nothing when a worker died meanwhile', async () => {
    await begin();
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'lost', holding);
    await eventSeen(master, agent_id, 'ack', 'lost');
    await stage.kill(master);
    for (const pid of stage.processes(agent_id))
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended with a process before it.
      }
    const next = await stage.serve();
    await workerIs(next, agent_id, 'crashed');
    const end = await taskEnd(next, agent_id, 'lost');
    expect(end).toMatchObject({
      type: 'error',
      payload: { code: 'worker_crashed' }
    });
    await until('its pane to close', () => panes().length === 0 || undefined);
  });

  testHere('leaves no worker behind that never gets ready', async () => {
    await begin({ readyTimeoutSeconds: 5 });
    const name = 'half-made';
    const role = 'rehearsal: hang';
    const making = master.call('agent_create', { name, role });
    making.catch(() => undefined);
    const [{ agent_id = '' } = {}] = await until('its start', async () => {
      const seen = await workersSeen(master);
      const [first] = seen;
      return first && stage.processes(first.agent_id).length > 1
        ? seen
        : undefined;
    });
    await stage.kill(master);
    const next = await stage.serve();
    await workerIs(next, agent_id, 'crashed');
    await until(
      'its end',
      () => stage.processes(agent_id).length === 0 || undefined
    );
    await until('its pane to close', () => panes().length === 0 || undefined);
    const { tmux_pane_id } = await workerSeen(next, agent_id);
    expect(tmux_pane_id).toBeNull();
  });

  testHere('starts a new run when no worker of the old one lives', async () => {
    await begin();
    const { agent_id, run_id } = await createdWorker(master);
    await answerOf(master, 'agent_delete', { agent_id });
    await stage.kill(master);
    const next = await stage.serve();
    const made = await createdWorker(next);
    expect(made.run_id).not.toBe(run_id);
    expect(await workersSeen(next)).toHaveLength(1);
    expect(await workersSeen(next, 'all')).toHaveLength(2);
  });
});
