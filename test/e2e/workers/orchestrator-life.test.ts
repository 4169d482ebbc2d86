import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  eventsOf,
  taskEnd,
  typesOf,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

describe.each(backends)('a worker on the %s backend', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  const inPane = backend === 'tmux';
  let stage: OrchestratorStage;
  let master: McpClient;
  let worker: Awaited<ReturnType<typeof createdWorker>>;

  beforeAll(async () => {
    stage = createOrchestratorStage(backend);
    master = await stage.serve();
    worker = await createdWorker(master, {
      name: 'Ada',
      role: 'You are brief.\nYou say little.',
      env: { ADA_HAS: 'a variable' }
    });
  });

  afterAll(() => stage?.close());

  testHere('is created with its id, its pane and its paths', () => {
    const directory = join(
      stage.path,
      '.agents',
      'agents',
      String(worker.agent_id)
    );
    expect(worker.paths).toEqual({
      directory,
      meta: join(directory, 'meta.json'),
      inbox: join(directory, 'inbox.jsonl'),
      outbox: join(directory, 'outbox.jsonl'),
      artifacts: join(directory, 'artifacts')
    });
    expect(readdirSync(directory).toSorted()).toEqual([
      'artifacts',
      'inbox.jsonl',
      'meta.json',
      'outbox.jsonl'
    ]);
    expect(worker.tmux_pane_id === null).toBe(!inPane);
    if (!inPane) return;
    const pane = stage
      .screen()
      .panes()
      .find(({ agent }) => agent === worker.agent_id);
    expect(pane).toMatchObject({ id: worker.tmux_pane_id });
    expect(pane?.title).toContain('Ada');
  });

  testHere('has been ready once, in its outbox and in the broadcast', () => {
    const outbox = stage.lines(worker.paths.outbox);
    expect(outbox).toMatchObject([{ seq: 1, type: 'ready' }]);
    const told = stage.lines(broadcastOf(stage, worker.run_id));
    expect(told).toMatchObject([
      { agent_id: worker.agent_id, seq: 1, type: 'ready' }
    ]);
  });

  testHere('keeps what it is in its meta', () => {
    const meta = JSON.parse(readFileSync(worker.paths.meta, 'utf8'));
    expect(meta).toMatchObject({
      agent_id: worker.agent_id,
      name: 'Ada',
      role: 'You are brief.\nYou say little.',
      engine: 'rehearsal',
      cwd: stage.path,
      run_id: worker.run_id,
      backend
    });
    expect(meta.pane?.pane_id ?? null).toBe(worker.tmux_pane_id);
    // Readers of the folder need not see secrets.
    expect(JSON.stringify(meta)).not.toContain('a variable');
  });

  testHere('is listed in short and looked at in full', async () => {
    const { agent_id, run_id, tmux_pane_id, paths } = worker;
    const short = {
      agent_id,
      name: 'Ada',
      engine: 'rehearsal',
      status: 'ready',
      tmux_pane_id,
      queue_depth: 0,
      running_task_id: null,
      last_event_seq: 1,
      run_id
    };
    const listed = await workersSeen(master);
    expect(listed).toEqual([{ ...short, role: 'You are brief.' }]);
    expect(await workersSeen(master, 'run')).toEqual(listed);
    expect(await workersSeen(master, 'current_window')).toEqual(listed);
    expect(await workersSeen(master, 'all')).toEqual(listed);
    const answer = await answerOf(master, 'agent_get', { agent_id });
    expect(answer).toEqual({
      meta: {
        ...short,
        role: 'You are brief.\nYou say little.',
        model: 'script',
        access: 'full',
        cwd: stage.path,
        backend,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        restarts: 0,
        queued_task_ids: [],
        paths
      }
    });
  });

  testHere('gets its variables, its place and a role by its id', async () => {
    stage.write('below/here.txt', 'here');
    stage.write('agents/tester.md', '---\nname: Tester\n---\nYou test.\n');
    const made = await createdWorker(master, {
      name: 'Below',
      role: 'tester',
      cwd: 'below',
      env: { LEFT_BY: 'the test' }
    });
    const { agent_id } = made;
    const [pid] = stage.processes(agent_id);
    expect(pid).toBeGreaterThan(0);
    const seen = await workerSeen(master, agent_id);
    expect(seen).toMatchObject({ role: 'tester', run_id: worker.run_id });
    expect(seen.cwd).toBe(join(stage.path, 'below'));
    const task = { payload: 'write made.txt here' };
    const { task_id, position } = await answerOf(master, 'task_enqueue', {
      agent_id,
      task
    });
    expect(position).toBe(0);
    expect(task_id).toMatch(/^[0-9a-f]{8}$/);
    const end = await taskEnd(master, agent_id, String(task_id));
    expect(end).toMatchObject({ type: 'result', done: true });
    const made_file = join(stage.path, 'below', 'made.txt');
    expect(readFileSync(made_file, 'utf8')).toBe('here\n');
    const types = typesOf(await eventsOf(master, agent_id), String(task_id));
    expect(types).toEqual(['<delivered>', 'ack', 'progress', 'result']);
    const environments = stage.environments(agent_id);
    expect(environments.flat()).toContain('LEFT_BY=the test');
  });

  testHere('has folders and files that nobody else can read', () => {
    const roots = [stage.paths.home, stage.paths.shared.directory];
    const open = roots
      .flatMap((root) =>
        readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) =>
          join(root, name)
        )
      )
      .flatMap((path) => {
        // A lock may have been released since.
        const stats = statSync(path, { throwIfNoEntry: false });
        return stats ? { path, stats } : [];
      })
      .filter(({ stats }) => stats.isFile() || stats.isDirectory())
      .filter(({ stats }) => {
        const mode = stats.mode & 0o777;
        return mode !== (stats.isDirectory() ? 0o700 : 0o600);
      });
    expect(open.map(({ path }) => path)).toEqual([]);
    for (const root of roots) {
      const ignored = join(root, '.gitignore');
      expect(readFileSync(ignored, 'utf8')).toBe('*\n');
    }
  });
});

function broadcastOf({ path }: OrchestratorStage, runId: string): string {
  return join(path, '.agents', 'run', runId, 'broadcast.jsonl');
}
