import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test
} from 'vitest';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  createdWorker,
  enqueued,
  eventSeen,
  taskEnd,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

describe.each(backends)('a master whose client leaves (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;
  let watcher: McpClient;

  beforeEach(async () => {
    stage = createOrchestratorStage(backend);
    watcher = await stage.serve();
  });

  afterEach(() => stage?.close());

  const stopping = { flags: ['--on-disconnect', 'stop'] };

  testHere('leaves its workers at work', async () => {
    const leaving = await stage.serve();
    const { agent_id } = await createdWorker(leaving);
    await enqueued(leaving, agent_id, 'runs', 'sleep 0.5\nsay done');
    await eventSeen(leaving, agent_id, 'ack', 'runs');
    expect(await leaving.close()).toEqual({ code: 0, signal: null });
    expect(await taskEnd(watcher, agent_id, 'runs')).toMatchObject({
      type: 'result'
    });
    expect(await workerSeen(watcher, agent_id)).toMatchObject({
      status: 'ready'
    });
  });

  testHere(
    'takes its own along though it is killed, once anybody sees it',
    async () => {
      const leaving = await stage.serve(stopping);
      const { agent_id } = await createdWorker(leaving);
      await enqueued(leaving, agent_id, 'runs', 'hang');
      await eventSeen(leaving, agent_id, 'ack', 'runs');
      process.kill(leaving.pid, 'SIGKILL');
      await leaving.exited;
      await until('its end', async () => {
        const { status } = await workerSeen(watcher, agent_id);
        return status === 'stopped' || undefined;
      });
      // Its supervisor waits for the reaper, which ends a moment later.
      await until(
        'the end of every process',
        () => stage.processes(agent_id).length === 0
      );
      expect(await taskEnd(watcher, agent_id, 'runs')).toMatchObject({
        type: 'canceled'
      });
    }
  );

  testHere('takes its own workers along where that is wished', async () => {
    const leaving = await stage.serve(stopping);
    const theirs = await createdWorker(watcher);
    const own = await createdWorker(leaving);
    await enqueued(leaving, own.agent_id, 'runs', 'hang');
    await eventSeen(leaving, own.agent_id, 'ack', 'runs');
    expect(await leaving.close()).toEqual({ code: 0, signal: null });
    expect(stage.processes(own.agent_id)).toEqual([]);
    expect(await workerSeen(watcher, own.agent_id)).toMatchObject({
      status: 'stopped'
    });
    expect(await taskEnd(watcher, own.agent_id, 'runs')).toMatchObject({
      type: 'canceled'
    });
    expect(await workerSeen(watcher, theirs.agent_id)).toMatchObject({
      status: 'ready'
    });
  });

  testHere('takes along even those that are being made', async () => {
    const leaving = await stage.serve(stopping);
    const args = { name: 'half', role: 'rehearse', engine: 'puppet' };
    leaving.call('agent_create', args).catch(() => undefined);
    const id = await until('its program', async () => {
      const [half] = await workersSeen(watcher);
      const started = half && stage.processes(half.agent_id).length > 1;
      return started ? half.agent_id : undefined;
    });
    expect(await leaving.close()).toEqual({ code: 0, signal: null });
    expect(stage.processes(id)).toEqual([]);
    const { status, tmux_pane_id } = await workerSeen(watcher, id);
    // Ended by force, or found to be of no use: whichever was first.
    expect(status).toMatch(/^(stopped|crashed)$/);
    expect(tmux_pane_id).toBeNull();
  });
});

test('the server of a worker whose client leaves removes the files of its process', async () => {
  const stage = createOrchestratorStage('process');
  onTestFinished(stage.close);
  const { desk } = await stage.puppet(await stage.serve());
  const filesOfDesk = () =>
    readdirSync(join(stage.record, 'workers'), { recursive: true })
      .map(String)
      .filter((path) => basename(path).startsWith(`${desk.pid}.`));
  // It has taken the lock of its worker, to report that it is ready.
  expect(filesOfDesk()).not.toEqual([]);
  expect(await desk.close()).toEqual({ code: 0, signal: null });
  expect(filesOfDesk()).toEqual([]);
});
