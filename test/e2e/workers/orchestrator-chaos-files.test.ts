import {
  appendFileSync,
  readdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { faultsOf } from '../../kit/judges/worker-judge.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  enqueued,
  eventsOf,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

const logs = ['inbox', 'outbox', 'broadcast'] as const;
type Log = (typeof logs)[number];

/** As kill -9 leaves it: some of a line, no end. */
const torn = '{"seq":99,"at":"2026-01-01T00:00:00.000Z","type":"resu';

const foreign = '{"of":"another"}\n';

let stage: OrchestratorStage;
let master: McpClient;
let id: string;
let desk: McpClient;
let files: Record<Log, string>;
let acknowledged: string[];

beforeEach(async () => {
  acknowledged = [];
  stage = createOrchestratorStage('process');
  master = await stage.serve();
  ({ id, desk } = await stage.puppet(master));
  const { run_id: run } = await workerSeen(master, id);
  const workers = join(stage.record, 'workers');
  files = {
    inbox: join(workers, id, 'inbox.jsonl'),
    outbox: join(workers, id, 'outbox.jsonl'),
    broadcast: join(workers, `run-${run}`, 'broadcast.jsonl')
  };
});

afterEach(() => stage?.close());

describe.each(logs)('in the record’s %s', (log) => {
  test.each([
    ['a torn last line', torn],
    ['a torn last line of 5 MB', `${torn}${'x'.repeat(5e6)}`]
  ])('%s is put aside, and nothing else is lost', async (_, left) => {
    await doTask('before');
    appendFileSync(files[log], left);
    // One that wrote there before, and one that never did.
    await doTask('after');
    appendFileSync(files[log], left);
    await replaceServers();
    await doTask('after another start');
    expect(await faultsAtEnd()).toEqual([]);
    const aside = textsBelow(join(stage.record, 'workers'), '.torn-');
    expect(aside).toEqual([left, left]);
  });

  test.each([
    ['a line of 5 MB', `${'x'.repeat(5e6)}`],
    ['a line that is not JSON', 'not ours'],
    ['JSON of another kind', '{"hello":["world"]}'],
    ['bytes that are no text', '\u0000\ufffd\u0000']
  ])('%s of somebody else is passed over', async (_, line) => {
    await doTask('before');
    appendFileSync(files[log], `${line}\n`);
    await doTask('after');
    await replaceServers();
    await doTask('after another start');
    expect(readFileSync(files[log], 'utf8')).toContain(`${line}\n`);
    expect(await faultsAtEnd(line)).toEqual([]);
  });

  test('foreign lines in the middle are skipped', async () => {
    for (const name of ['one', 'two', 'three']) await doTask(name);
    const lines = readFileSync(files[log], 'utf8').split('\n');
    lines.splice(1, 0, 'not ours', 'x'.repeat(3000));
    writeFileSync(files[log], lines.join('\n'));
    await doTask('after');
    await replaceServers();
    await doTask('after another start');
    expect(await faultsAtEnd('not ours', 'x'.repeat(3000))).toEqual([]);
  });

  test('what another program appends meanwhile spoils nothing', async () => {
    const writing = setInterval(() => appendFileSync(files[log], foreign), 3);
    try {
      for (let count = 0; count < 10; count += 1) await doTask(`task-${count}`);
    } finally {
      clearInterval(writing);
    }
    expect(await faultsAtEnd(foreign.trim())).toEqual([]);
  });
});

/** Gives a task, which the worker does. */
async function doTask(name: string): Promise<void> {
  await enqueued(master, id, name);
  acknowledged.push(name);
  expect(await answerOf(desk, 'wait_for_command', { timeout_ms: 5000 }))
    // What is due comes first, in any case.
    .toMatchObject({ command: { type: 'task', task_id: name } });
  await answerOf(desk, 'emit_event', { type: 'progress', payload: { name } });
  const { seq } = await answerOf(desk, 'emit_event', { type: 'result' });
  const events = await eventsOf(master, id);
  expect(events.at(-1)).toMatchObject({ seq, type: 'result', task_id: name });
}

async function replaceServers(): Promise<void> {
  await Promise.all([stage.kill(master), stage.kill(desk)]);
  [master, desk] = await Promise.all([stage.serve(), stage.serveWorker(id)]);
}

/** What is wrong once the worker is deleted, except for foreign lines. */
async function faultsAtEnd(...foreign: string[]): Promise<string[]> {
  await answerOf(master, 'agent_delete', { agent_id: id, force: true });
  const text = (log: Log) =>
    readFileSync(files[log], 'utf8')
      .split('\n')
      .filter((line) => !foreign.includes(line))
      .join('\n');
  return faultsOf({
    agentId: id,
    inbox: text('inbox'),
    outbox: text('outbox'),
    broadcast: text('broadcast'),
    acknowledged
  });
}

function textsBelow(directory: string, part: string): string[] {
  return readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => name.includes(part))
    .map((name) => readFileSync(join(directory, name), 'utf8'));
}
