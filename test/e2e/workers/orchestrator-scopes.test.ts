import { expect, onTestFinished, test } from 'vitest';
import {
  answerOf,
  createdWorker,
  workerIs,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import { createOrchestratorStage } from '../../kit/servers/orchestrator-stage.ts';

test('workers of an earlier run are shown where all are asked for, and nowhere else', async () => {
  const stage = createOrchestratorStage('process');
  onTestFinished(() => stage.close());
  const first = await stage.serve();
  const before = await createdWorker(first, { name: 'before' });
  await answerOf(first, 'agent_delete', { agent_id: before.agent_id });
  await workerIs(first, before.agent_id, 'stopped');
  await stage.kill(first);
  const second = await stage.serve();
  const now = await createdWorker(second, { name: 'now' });
  expect(now.run_id).not.toBe(before.run_id);
  const shown = async (scope?: string) =>
    (await workersSeen(second, scope)).map(({ name }) => name);
  expect(await shown('all')).toEqual(['before', 'now']);
  expect(await shown()).toEqual(['now']);
  expect(await shown('current_window')).toEqual(['now']);
});
