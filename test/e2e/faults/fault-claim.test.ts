import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  shiftedClock,
  testShifted
} from '../../kit/workspaces/shifted-clock.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const tidy: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of tidy.splice(0).reverse()) await step();
});

async function served(workspace: StepWorkspace, env = {}) {
  const server = await startServer(workspace, { env });
  tidy.push(() => server.close());
  return server;
}

testShifted(
  'an agent that has its name in no claim yet is not ended by another clock',
  async () => {
    const workspace = createStepWorkspace();
    tidy.push(workspace.remove);
    const clock = shiftedClock(join(workspace.home, 'clock'), 3600);
    const other = await served(workspace, clock.env);
    const owner = await served(workspace);
    const prompt = stepPrompt('one', 2);
    const { data } = await owner.call('spawn_step', { prompt });
    const agent_id = String(data.agent_id);
    await until('its start', () => workspace.steps().length === 1);
    const claim = join(workspace.record, 'spawns', agent_id, 'claim');
    const text = readFileSync(claim, 'utf8');
    // As it is between the name of the file and its first line.
    writeFileSync(claim, '');
    const listed = other.call('list');
    setTimeout(() => writeFileSync(claim, text), 100);
    await listed;
    await owner.call('wait_for_agents', { agent_ids: [agent_id], timeout: 20 });
    const { data: end } = await owner.call('result', { agent_id });
    expect(end).toMatchObject({ status: 'completed' });
  }
);
