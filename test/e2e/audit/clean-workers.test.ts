import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;

beforeEach(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
});

afterEach(() => stage.close());

const clean = (...args: string[]) =>
  runCommand(stage, ['clean', '--yes', ...args]);

test('ended workers go on request, living ones stay', async () => {
  const create = async (name: string) =>
    (await createdWorker(master, { name })).agent_id;
  const over = await create('over');
  const living = await create('living');
  await answerOf(master, 'agent_delete', { agent_id: over });
  const isThere = (id: string) => existsSync(stage.file(id, 'meta.json'));
  await clean('--keep', '0');
  expect([isThere(over), isThere(living)]).toEqual([true, true]);
  await clean('--workers', '--older-than', '1h');
  expect(isThere(over)).toBe(true);
  const { stdout } = await clean('--workers', '--json');
  expect(JSON.parse(stdout).workers).toMatchObject([
    { agent_id: over, name: 'over' }
  ]);
  expect([isThere(over), isThere(living)]).toEqual([false, true]);
  const hidden = join(stage.record, 'workers');
  expect(existsSync(join(hidden, over))).toBe(false);
  const listed = await workersSeen(master, 'all');
  expect(listed.map(({ agent_id }) => agent_id)).toEqual([living]);
  await enqueued(master, living, 't1');
  expect(readFileSync(stage.file(living, 'inbox.jsonl'), 'utf8')).toContain(
    't1'
  );
});
