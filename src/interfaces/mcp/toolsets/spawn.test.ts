import { expect, test } from 'vitest';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import { spawnTools } from './spawn.ts';

test('a spawn is answered with the time limit of the agent', async () => {
  const { host } = await hostHere();
  const tool = spawnTools(host).find(({ name }) => name === 'spawn_rehearsal');
  const { structuredContent } = await Object(tool).call(
    { prompt: 'hang', timeout: 7 },
    { caller: { client: 'a client' }, clientName: 'a client' }
  );
  await host.cancel(structuredContent.agent_id);
  expect(structuredContent).toMatchObject({
    agent_type: 'rehearsal',
    message: expect.stringContaining(', timeout 7 s. ')
  });
});
