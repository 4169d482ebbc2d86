import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
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
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  type Backend,
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { gitIn } from '../../kit/workspaces/git-workspace.ts';

let stage: OrchestratorStage;
let master: McpClient;

async function open(backend: Backend = 'process'): Promise<void> {
  stage = createOrchestratorStage(backend);
  master = await stage.serve();
}

afterEach(() => stage.close());

const ids = async (scope = 'all') =>
  (await workersSeen(master, scope)).map(({ agent_id }) => agent_id);

/** The program or its server may write there meanwhile. */
function removeTree(path: string): void {
  for (let tries = 1; ; tries += 1)
    try {
      rmSync(path, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === 100) throw error;
    }
}

const long = JSON.stringify('x'.repeat(70_000));

/** Ways to lose the files in the workspace, in everyday work. */
const removals: [what: string, remove: (id: string) => void][] = [
  [
    'git clean -ffdx',
    () => {
      gitIn(stage.path, 'init', '--quiet');
      const keep = ['puppet.mjs', 'troupe.config.json'];
      const spared = keep.flatMap((name) => ['--exclude', name]);
      gitIn(stage.path, 'clean', '-ffdx', '--quiet', ...spared);
    }
  ],
  ['rm -rf .agents', () => removeTree(join(stage.path, '.agents'))],
  ['its meta.json', (id) => rmSync(stage.file(id, 'meta.json'))],
  [
    'its logs',
    (id) => {
      rmSync(stage.file(id, 'inbox.jsonl'));
      writeFileSync(stage.file(id, 'outbox.jsonl'), 'not ours\n');
    }
  ]
];

describe.each(removals)('a worker that loses %s', (_what, remove) => {
  test('goes on with its queue, is listed, and has its files back', async () => {
    await open();
    const { id, desk } = await stage.puppet(master);
    const { run_id: run } = await workerSeen(master, id);
    await enqueued(master, id, 'first', long);
    await answerOf(desk, 'wait_for_command', { timeout_ms: 5000 });
    await enqueued(master, id, 'second');
    const names = ['meta.json', 'inbox.jsonl', 'outbox.jsonl'];
    const files = [
      ...names.map((name) => stage.file(id, name)),
      join(stage.path, '.agents', 'run', run, 'broadcast.jsonl')
    ];
    const texts = () => files.map((path) => readFileSync(path, 'utf8'));
    const before = texts();
    remove(id);
    await until('its files', () => {
      const isThere = files.every((path) => existsSync(path));
      return (isThere && texts().join() === before.join()) || undefined;
    });
    expect(await ids()).toEqual([id]);
    expect(await workerSeen(master, id)).toMatchObject({
      status: 'busy',
      running_task_id: 'first',
      queue_depth: 1
    });
    const given = await answerOf(desk, 'wait_for_command', {
      timeout_ms: 5000
    });
    const { payload_file } = { ...Object(given.command) };
    expect(readFileSync(payload_file, 'utf8')).toBe(JSON.stringify(long));
    await answerOf(desk, 'emit_event', { type: 'result' });
    const next = await answerOf(desk, 'wait_for_command', { timeout_ms: 5000 });
    expect(next).toMatchObject({ command: { task_id: 'second' } });
    const events = await eventsOf(master, id);
    expect(stage.lines(stage.file(id, 'outbox.jsonl'))).toEqual(events);
  });
});

test('its files come back though no master lives', async () => {
  await open();
  const { id, desk } = await stage.puppet(master);
  await stage.kill(master);
  removeTree(join(stage.path, '.agents'));
  await until(
    'its files',
    () => existsSync(stage.file(id, 'meta.json')) || undefined
  );
  await desk.close();
  master = await stage.serve();
});

test('a worker that is over has its files back, too', async () => {
  await open();
  const { agent_id: id } = await createdWorker(master);
  await answerOf(master, 'agent_delete', { agent_id: id });
  const before = readFileSync(stage.file(id, 'outbox.jsonl'), 'utf8');
  removeTree(join(stage.path, '.agents'));
  await until(
    'its outbox',
    () => existsSync(stage.file(id, 'outbox.jsonl')) || undefined
  );
  expect(readFileSync(stage.file(id, 'outbox.jsonl'), 'utf8')).toBe(before);
});

const recordOf = (id: string) => join(stage.record, 'workers', id);

/** What remains of a record that cannot be made whole again. */
const damages: [what: string, damage: (id: string) => void][] = [
  ['folder', (id) => removeTree(recordOf(id))],
  ['meta.json', (id) => rmSync(join(recordOf(id), 'meta.json'))],
  [
    'meta.json in whole words',
    (id) => writeFileSync(join(recordOf(id), 'meta.json'), '{')
  ],
  ['outbox', (id) => rmSync(join(recordOf(id), 'outbox.jsonl'))],
  ['workspace record', () => renameSync(stage.record, `${stage.record}.old`)]
];

/** Its program will never notice by itself what becomes of its record. */
async function hangs(id: string): Promise<void> {
  await enqueued(master, id, 'hanging', 'hang');
  await eventSeen(master, id, 'progress', 'hanging');
}

const isEnded = (id: string) => () =>
  stage.processes(id).length === 0 || undefined;

describe.each(damages)(
  'a worker whose record loses its %s',
  (_what, damage) => {
    test('is ended and named, with its tasks, by the server that knows it', async () => {
      await open();
      const { agent_id: id } = await createdWorker(master, {
        name: 'lost one'
      });
      await hangs(id);
      await enqueued(master, id, 'waiting');
      damage(id);
      await until('its end', isEnded(id), 30_000);
      const told = await until('word of it', () =>
        master.stderr.split('\n').find((line) => line.includes('"lost one"'))
      );
      expect(told).toContain(id);
      expect(told).toContain('hanging, waiting');
      const refused = await refusalOf(master, 'events_read', { agent_id: id });
      expect(refused).toMatchObject({ error_code: 'unknown_agent' });
      expect(refused.error).toContain('its program was ended');
      expect(await ids()).toEqual([]);
    });
  }
);

describe.each(backends)('on the %s backend', (backend) => {
  test('agent_delete ends one whose record was just removed', async () => {
    await open(backend);
    const { agent_id: id, tmux_pane_id: pane } = await createdWorker(master);
    await hangs(id);
    damages[0]?.[1](id);
    const args = { agent_id: id, force: true, confirm: true };
    const refused = await refusalOf(master, 'agent_delete', args);
    expect(refused.error).toContain('its program was ended');
    expect(stage.processes(id)).toEqual([]);
    if (pane)
      expect(stage.screen().tmux('list-panes', '-a', '-F', '#{pane_id}'))
        .not //
        .toContain(pane);
  });
});

test('without a master, the worker’s own server ends its program', async () => {
  await open();
  const { agent_id: id } = await createdWorker(master);
  await hangs(id);
  await stage.kill(master);
  removeTree(recordOf(id));
  await until('its end', isEnded(id), 40_000);
  master = await stage.serve();
  expect(await ids()).toEqual([]);
});

test('the next server ends what it finds without a readable record', async () => {
  await open();
  const { id, desk } = await stage.puppet(master);
  await stage.kill(master);
  await stage.kill(desk);
  rmSync(join(recordOf(id), 'meta.json'));
  master = await stage.serve();
  await until('its end', isEnded(id), 30_000);
  await until('word of it', () => master.stderr.includes(id) || undefined);
});

test('the pane of one whose record was removed meanwhile closes with the next worker', async () => {
  await open('tmux');
  const { agent_id: id, tmux_pane_id: pane } = await createdWorker(master);
  await stage.kill(master);
  removeTree(recordOf(id));
  await until('its end', isEnded(id), 40_000);
  const panes = () => {
    const format = ['-F', '#{pane_id}'];
    return stage
      .screen()
      .tmux('list-panes', '-a', ...format)
      .split('\n');
  };
  expect(panes()).toContain(pane);
  master = await stage.serve();
  await createdWorker(master);
  await until('its pane closes', () => !panes().includes(String(pane)));
});

test('clean leaves what identifies a program that lives', async () => {
  await open();
  const { id, desk } = await stage.puppet(master);
  await stage.kill(master);
  await stage.kill(desk);
  rmSync(join(recordOf(id), 'meta.json'));
  const old = new Date(Date.now() - 3_600_000);
  utimesSync(recordOf(id), old, old);
  await runCommand(stage, ['clean', '--workers', '--yes']);
  expect(existsSync(join(recordOf(id), 'start-1', 'claim'))).toBe(true);
  master = await stage.serve();
  await until('its end', isEnded(id), 30_000);
  utimesSync(recordOf(id), old, old);
  await runCommand(stage, ['clean', '--workers', '--yes']);
  expect(readdirSync(join(stage.record, 'workers'))).not.toContain(id);
});

test('a task done after a removal is given no second time', async () => {
  await open();
  const { agent_id: id } = await createdWorker(master);
  await enqueued(master, id, 'one', holding.slice(0, 60));
  removeTree(join(stage.path, '.agents'));
  expect(await taskEnd(master, id, 'one')).toMatchObject({ type: 'result' });
  const refused = await refusalOf(master, 'task_enqueue', {
    agent_id: id,
    task: { task_id: 'one', payload: 'again' }
  });
  expect(refused.error_code).toBe('task_exists');
});
