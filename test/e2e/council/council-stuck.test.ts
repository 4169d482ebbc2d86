import { rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { done } from '../../kit/servers/council-calls.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  createSummonStage,
  type SummonStage,
  summoned
} from '../../kit/workspaces/summon-stage.ts';

let stage: SummonStage;
let server: McpClient;

beforeEach(async () => {
  stage = createSummonStage();
  server = await stage.serve();
  const asked = { agent_name: 'alice', request: 'Which language?' };
  await done(server, 'start_council', asked);
});

afterEach(() => stage.close());

/** This machine cannot see whether its holder runs. */
const elsewhere = {
  pid: 1,
  start: '1',
  place: 'elsewhere boot pid',
  nonce: '0123456789abcdef'
};

test('a council that is held up from elsewhere holds up no command, and gets its responses later', async () => {
  stage.hold();
  const [first, second] = [await summoned(server), await summoned(server)];
  await stage.kill(server);
  const lock = `${stage.council}.lock`;
  writeFileSync(lock, JSON.stringify(elsewhere));
  stage.letGo();
  const began = performance.now();
  const listed = await runCommand(stage, ['list', '--json']);
  const waited = await runCommand(stage, ['wait', first.id, second.id]);
  expect([listed.code, waited.code]).toEqual([0, 0]);
  // A process that waits for this lock gives up after ten seconds.
  expect(performance.now() - began).toBeLessThan(8000);
  expect(stage.state().feedback).toEqual([]);
  rmSync(lock);
  await stage.serve();
  for (const { id } of [first, second])
    expect(await stage.settled(id)).toMatchObject({ status: 'completed' });
});
