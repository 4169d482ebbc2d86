import { expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import type { CliEngine } from '../../../plugin/plugin.ts';
import { spawnTools } from './spawn.ts';

/** Ends at once. */
const quick: CliEngine = {
  kind: 'cli',
  name: 'quick',
  description: 'For tests.',
  command: '/bin/sh',
  args: () => ['-c', 'echo done']
};

/** Calls the spawn tool of `quick`. */
async function createSpawn() {
  const { host } = await hostHere({ engines: 'quick' }, [quick]);
  const tool = spawnTools(host).find(({ name }) => name === 'spawn_quick');
  const spawn = async (input: Record<string, unknown>) => {
    const answer = await tool?.call(input, callContext());
    return Object(answer?.structuredContent);
  };
  return { host, spawn };
}

test('a spawn is answered with the time limit of the agent', async () => {
  const { spawn } = await createSpawn();
  expect(await spawn({ prompt: 'x', timeout: 7 })).toMatchObject({
    agent_type: 'quick',
    message: expect.stringContaining(', timeout 7 s. ')
  });
});

test('a repeated request whose agent has ended points to its result', async () => {
  const { host, spawn } = await createSpawn();
  const request = { prompt: 'x', request_id: 'one' };
  const { agent_id: id } = await spawn(request);
  await until('its end', () => host.store.outcomeOf(id));
  const { status, message } = await spawn(request);
  expect(status).toBe('completed');
  expect(message).toContain(`result {"agent_id":"${id}"} gives its answer`);
  expect(message).not.toContain('wait_for_agents');
});
