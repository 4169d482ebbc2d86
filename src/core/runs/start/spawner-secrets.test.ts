import { beforeEach, expect, test } from 'vitest';
import {
  createSpawnStage,
  type SpawnStage
} from '../../../../test/kit/workspaces/spawn-stage.ts';

const token = `ghp_${'a1'.repeat(18)}`;
const request = { engine: 'shell', prompt: 'echo done' };
let stage: SpawnStage;

beforeEach(async () => {
  stage = await createSpawnStage();
});

function expectNoSecretIn(facts: unknown): void {
  const all = JSON.stringify([facts, stage.files()]);
  expect(all).toContain('[redacted]');
  // Half of it would be enough for a reader.
  expect(all).not.toContain(token.slice(0, 12));
}

test('the reason why an agent cannot start has no secret, whoever reads it', async () => {
  const message = `Its settings name ${token}.`;
  const failure = { code: 'not_installed', message } as const;
  const { record, ...spawned } = await stage.spawner.spawn({
    ...request,
    failure
  });
  const error = 'Its settings name [redacted].';
  const outcome = stage.store.outcomeOf(record.agent_id);
  expect(outcome).toMatchObject({ status: 'failed', error });
  expect(spawned).toMatchObject({ failure: { message: error } });
  expectNoSecretIn(spawned);
});

test('the name of a client that spawns is redacted, and then cut', async () => {
  const before = 'x'.repeat(180);
  const client = `${before} ${token} ${'y'.repeat(300)}`;
  const { record } = await stage.spawner.spawn({
    ...request,
    caller: { client, session: 'one' }
  });
  expect(record.caller?.session).toBe('one');
  expect(record.caller?.client).toMatch(
    new RegExp(`^${before} \\[redacted\\]( y*)?$`)
  );
  expectNoSecretIn(record);
});
