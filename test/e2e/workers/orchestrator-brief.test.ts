import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import { createOrchestratorStage } from '../../kit/servers/orchestrator-stage.ts';

/** The brief of the first program of a worker. */
async function briefWith(settings: Record<string, unknown>) {
  const stage = createOrchestratorStage('process', { settings });
  onTestFinished(() => stage.close());
  const { agent_id, paths } = await createdWorker(await stage.serve(), {
    name: 'Kim',
    role: 'You say little.\nAnd nothing twice.'
  });
  const start = join(stage.record, 'workers', agent_id, 'start-1');
  const brief = readFileSync(join(start, 'stdin'), 'utf8');
  return { brief, agent_id, paths };
}

test('a worker learns its name, its task and where its files go', async () => {
  const { brief, agent_id, paths } = await briefWith({});
  expect(brief).toContain(`the worker "Kim" (agent_id ${agent_id})`);
  expect(brief).toContain('# Role\n\nYou say little.\nAnd nothing twice.\n');
  expect(brief).toContain(paths.artifacts);
  expect(brief).toContain('at least every 60 seconds');
});

test('it is to be heard more often where silence counts sooner', async () => {
  const { brief } = await briefWith({ stalledAfterSeconds: 20 });
  expect(brief).toContain('at least every 6 seconds');
});
