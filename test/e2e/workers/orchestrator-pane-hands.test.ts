import { afterEach, beforeEach, describe, expect } from 'vitest';
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
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;

beforeEach(async () => {
  const settings = { restart: 'on-crash' };
  stage = createOrchestratorStage('tmux', { settings });
  master = await stage.serve();
});

afterEach(() => stage?.close());

/** A worker amid a task, in its pane. */
async function atWork() {
  const made = await createdWorker(master);
  const { agent_id, tmux_pane_id } = made;
  await enqueued(master, agent_id, 'long', holding);
  await eventSeen(master, agent_id, 'progress', 'long');
  return { agent_id, pane: tmux_pane_id ?? '' };
}

async function finish(agent_id: string): Promise<void> {
  await answerOf(master, 'task_cancel', { agent_id, task_id: 'long' });
  expect(await taskEnd(master, agent_id, 'long')).toMatchObject({
    type: 'canceled'
  });
  await answerOf(master, 'agent_delete', { agent_id });
  await workerIs(master, agent_id, 'stopped');
  const { panes } = stage.screen();
  await until(
    'its pane to close',
    () => panes().every(({ agent }) => agent === '') || undefined
  );
  expect(stage.processes(agent_id)).toEqual([]);
}

describe('a user that changes the pane of a worker', () => {
  testTmux('may close it: the worker goes on in another', async () => {
    const { agent_id, pane } = await atWork();
    const before = await eventsOf(master, agent_id);
    stage.screen().tmux('kill-pane', '-t', pane);
    await eventSeen(master, agent_id, 'restarted');
    const seen = await workerSeen(master, agent_id);
    expect(seen.tmux_pane_id).not.toBe(pane);
    const shown = stage
      .screen()
      .panes()
      .filter(({ agent }) => agent === agent_id);
    expect(shown.map(({ id }) => id)).toEqual([seen.tmux_pane_id]);
    await until('the task to be given again', async () => {
      const types = typesOf(await eventsOf(master, agent_id), 'long');
      return types.filter((type) => type === 'ack').length === 2 || undefined;
    });
    const since = (await eventsOf(master, agent_id)).slice(before.length);
    const told = typesOf(since).filter((type) => type.startsWith('<'));
    expect(told).toEqual([
      '<crashed>',
      '<requeued>',
      '<restarted>',
      '<delivered>'
    ]);
    await finish(agent_id);
  });

  testTmux('may move it to another window', async () => {
    const { agent_id, pane } = await atWork();
    const { tmux } = stage.screen();
    tmux('break-pane', '-d', '-s', pane, '-n', 'elsewhere');
    const moved = await createdWorker(master);
    expect(await workerSeen(master, agent_id)).toMatchObject({
      status: 'busy',
      tmux_pane_id: pane
    });
    const windows = tmux('list-panes', '-aF', '#{window_name} #{pane_id}');
    expect(windows).toContain(`elsewhere ${pane}`);
    expect(windows).not.toContain(`elsewhere ${moved.tmux_pane_id}`);
    await answerOf(master, 'agent_delete', { agent_id: moved.agent_id });
    await finish(agent_id);
  });

  testTmux('may zoom and type and rename: nothing is lost', async () => {
    const { agent_id, pane } = await atWork();
    const { tmux } = stage.screen();
    tmux('select-pane', '-t', pane, '-T', 'my worker');
    tmux('select-pane', '-t', pane);
    tmux('resize-pane', '-Z', '-t', pane);
    tmux('send-keys', '-t', pane, 'words', 'Enter');
    const before = (await eventsOf(master, agent_id)).length;
    await until(
      'the worker to go on',
      async () => (await eventsOf(master, agent_id)).length > before
    );
    expect(await workerSeen(master, agent_id)).toMatchObject({
      status: 'busy',
      tmux_pane_id: pane
    });
    await finish(agent_id);
  });
});
