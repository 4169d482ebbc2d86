import { expect, test, vi } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { createSpawnStage } from '../../../../test/kit/workspaces/spawn-stage.ts';

test('an agent whose supervisor is killed before it begins has failed to start', async () => {
  const stage = await createSpawnStage();
  const { spawner, tracker, starter } = stage;
  // It ends, and leaves nothing.
  const launched = { ended: Promise.resolve(true) };
  vi.spyOn(stage.processes, 'launch').mockReturnValue(launched);
  const request = { engine: 'shell', prompt: 'touch ran' };
  const { agent_id: id } = (await spawner.spawn(request)).record;
  await until('its end', () => starter.ownRunning().length === 0);
  const error = expect.stringContaining('was killed before it began');
  expect((await tracker.run(id))?.outcome).toMatchObject({
    ...{ status: 'failed', error_code: 'spawn_failed', error }
  });
});
