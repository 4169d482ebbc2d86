import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aftermath, programsOf } from '../../kit/agents/worker-chaos.ts';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventSeen,
  holding,
  taskEnd,
  workerIs
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

/** Ends that a killed master has begun to write down, as it leaves them. */
let stage: OrchestratorStage;
let master: McpClient;
let id: string;
let files: { outbox: string; broadcast: string; request: string };
let request: string;

beforeEach(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
  const { agent_id, run_id, paths } = await createdWorker(master);
  id = agent_id;
  files = {
    outbox: paths.outbox,
    broadcast: join(stage.paths.shared.run, run_id, 'broadcast.jsonl'),
    request: join(stage.record, 'workers', id, 'request.json')
  };
  request = readFileSync(files.request, 'utf8');
});

afterEach(() => stage?.close());

test('an end that was not reported yet is reported by the next master', async () => {
  await answerOf(master, 'agent_delete', { agent_id: id, force: true });
  await stage.kill(master);
  takeLast(files.broadcast, 1);
  // It goes when all is done.
  writeFileSync(files.request, request);
  await expectNothingOpen([]);
});

test('a crash of which only the beginning was written down is completed', async () => {
  await enqueued(master, id, 'one', 'crash');
  await enqueued(master, id, 'two');
  await workerIs(master, id, 'crashed');
  await taskEnd(master, id, 'one');
  await stage.kill(master);
  for (const file of [files.outbox, files.broadcast]) takeLast(file, 1);
  writeFileSync(files.request, request);
  master = await stage.serve();
  const end = { type: 'error', payload: { code: 'worker_crashed' } };
  expect(await taskEnd(master, id, 'one')).toMatchObject(end);
  await answerOf(master, 'agent_delete', { agent_id: id });
  await stage.kill(master);
  await expectNothingOpen(['one', 'two']);
});

test('a crash amid a soft end, half written down, cancels what is left', async () => {
  await enqueued(master, id, 'one', `${holding}`);
  await eventSeen(master, id, 'ack', 'one');
  await enqueued(master, id, 'two');
  await answerOf(master, 'agent_delete', { agent_id: id });
  const [, ...pids] = stage.processes(id);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await workerIs(master, id, 'stopped');
  await stage.kill(master);
  // The ends of both tasks, and "stopped".
  for (const file of [files.outbox, files.broadcast]) takeLast(file, 3);
  writeFileSync(files.request, request);
  await expectNothingOpen(['one', 'two']);
});

test('a worker is restarted though its crash cannot be reported', async () => {
  await master.close();
  stage.write(
    'troupe.config.json',
    readFileSync(join(stage.path, 'troupe.config.json'), 'utf8').replace(
      '"engine":"rehearsal"',
      '"engine":"rehearsal","restart":"on-crash"'
    )
  );
  const told = readFileSync(files.broadcast);
  rmSync(files.broadcast);
  mkdirSync(files.broadcast);
  master = await stage.serve();
  await enqueued(master, id, 'one', 'sleep 1');
  await eventSeen(master, id, 'ack', 'one');
  for (const pid of programsOf(id)) process.kill(pid, 'SIGKILL');
  await taskEnd(master, id, 'one');
  rmSync(files.broadcast, { recursive: true });
  writeFileSync(files.broadcast, told);
  await answerOf(master, 'agent_delete', { agent_id: id });
  await expectNothingOpen(['one']);
});

async function expectNothingOpen(tasks: string[]): Promise<void> {
  master = await stage.serve();
  await until('all to be done', () => !existsSync(files.request));
  await workerIs(master, id, 'stopped');
  await master.close();
  expect(aftermath(stage, new Map([[id, tasks]]))).toEqual([]);
}

function takeLast(file: string, count: number): void {
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, lines.toSpliced(-1 - count, count).join('\n'));
}
