import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startServer, type ToolResult } from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const env = { TROUPE_MAX_CONCURRENT: '1' };
const queued = 12;

let workspace: StepWorkspace;

beforeEach(() => {
  workspace = createStepWorkspace();
});

afterEach(() => workspace.remove());

test('an agent that was queued in a killed server is reported as running by no server', async () => {
  const first = await startServer(workspace, { env });
  const spawned: ToolResult[] = [];
  for (let index = 0; index <= queued; index += 1) {
    const prompt = stepPrompt(`a${index}`, 30);
    spawned.push(await first.call('spawn_step', { prompt }));
  }
  const [running, ...others] = spawned.map(({ data }) => String(data.agent_id));
  const over = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await over;

  const next = await startServer(workspace, { env });
  // The very first question, before the server has looked around.
  const { data } = await next.call('list', { limit: 100 });
  expect(data).toMatchObject({ running: [{ id: running }], queued: [] });
  expect(data.completed_ids).toHaveLength(queued);
  expect(data.completed_ids).toEqual(expect.arrayContaining(others));
  await next.call('cancel_agent', { agent_id: running });
  await next.close();
  expect(workspace.steps().map(({ name }) => name)).toEqual(['a0']);
});
