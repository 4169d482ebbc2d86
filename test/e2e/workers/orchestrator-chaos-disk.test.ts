import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { aftermath } from '../../kit/agents/worker-chaos.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventsOf,
  refusalOf,
  taskEnd,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  canMount,
  makeSmallDisk,
  type SmallDisk
} from '../../kit/workspaces/small-disk.ts';

const testMounted = needing('right to mount a disk', canMount());

let stage: OrchestratorStage;
let disk: SmallDisk | undefined;
let master: McpClient;

beforeEach(async () => {
  const made = canMount() ? makeSmallDisk(2048) : undefined;
  disk = made;
  stage = createOrchestratorStage('process', { parent: made?.directory });
  master = await stage.serve();
});

afterEach(async () => {
  await stage?.close();
  disk?.unmount();
});

testMounted(
  'on a full disk tasks and events are refused, and go on when there is room',
  async () => {
    const { id, desk } = await stage.puppet(master);
    await enqueued(master, id, 'one');
    await answerOf(desk, 'wait_for_command', { timeout_ms: 5000 });
    disk?.fill();
    const before = await eventsOf(master, id);
    // Short ones may find room in a block that is theirs already.
    const long = { text: 'x'.repeat(20_000) };
    for (let tries = 0; tries < 5; tries += 1) {
      expect(
        await refusalOf(master, 'task_enqueue', taskOf(id, long))
      ).toMatchObject(refusal);
      for (const type of ['progress', 'result']) {
        const event = { type, payload: long };
        expect(await refusalOf(desk, 'emit_event', event)).toMatchObject(
          refusal
        );
      }
    }
    expect(await eventsOf(master, id)).toEqual(before);
    expect(await workerSeen(master, id)).toMatchObject({
      status: 'busy',
      queue_depth: 0,
      running_task_id: 'one'
    });
    disk?.free();
    await answerOf(desk, 'emit_event', { type: 'result', payload: long });
    await enqueued(master, id, 'two', long);
    const { command } = await answerOf(desk, 'wait_for_command', {
      timeout_ms: 5000
    });
    expect(command).toMatchObject({ task_id: 'two' });
    await answerOf(desk, 'emit_event', { type: 'result' });
    await answerOf(master, 'agent_delete', { agent_id: id, force: true });
    await Promise.all([master.close(), desk.close()]);
    expect(aftermath(stage, new Map([[id, ['one', 'two']]]))).toEqual([]);
  }
);

testMounted(
  'no worker is made on a full disk, and nothing is left',
  async () => {
    disk?.fill();
    const refused = await refusalOf(master, 'agent_create', {
      name: 'a worker',
      role: `You do this. ${'x'.repeat(20_000)}`
    });
    expect(refused).toMatchObject({
      ...refusal,
      hint: refused.hint
    });
    expect(refused.hint).toContain('space');
    expect(stage.processes('')).toEqual([]);
    disk?.free();
    expect(await workersSeen(master, 'all')).toEqual([]);
    const { agents } = stage.paths.shared;
    for (const directory of [agents, join(stage.record, 'workers')]) {
      const ids = existsSync(directory) ? readdirSync(directory) : [];
      expect(ids.filter((id) => /^[0-9a-f]{8}$/.test(id))).toEqual([]);
    }
    const { agent_id: id } = await createdWorker(master);
    expect(
      (await workersSeen(master, 'all')).map(({ agent_id }) => agent_id)
    ).toEqual([id]);
  }
);

testMounted(
  'a worker lives through a full disk, its program included',
  async () => {
    const { agent_id: id } = await createdWorker(master);
    disk?.fill();
    await refusalOf(master, 'task_enqueue', taskOf(id, 'x'.repeat(20_000)));
    disk?.free();
    for (const name of ['one', 'two']) await enqueued(master, id, name);
    expect(await taskEnd(master, id, 'two')).toMatchObject({ type: 'result' });
    await answerOf(master, 'agent_delete', { agent_id: id });
    await master.close();
    expect(aftermath(stage, new Map([[id, ['one', 'two']]]))).toEqual([]);
  }
);

testMounted('no worker is made on a read-only disk', async () => {
  await disk?.setReadOnly(true);
  const { error_code, error } = await refusalOf(master, 'agent_create', {
    name: 'a worker',
    role: 'You do what the tasks say.'
  });
  await disk?.setReadOnly(false);
  expect(error_code).toBe('storage_unwritable');
  expect(error).toContain('EROFS');
});

const refusal = {
  error_code: 'storage_full',
  error: expect.stringContaining('full'),
  hint: 'Nothing was recorded. Free some space and call again.'
};

function taskOf(agent_id: string, payload: unknown) {
  return { agent_id, task: { payload } };
}
