import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { done, refusal } from '../../kit/servers/council-calls.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { removeWhileUsed } from '../../kit/workspaces/remove-while-used.ts';
import { canMount, mountSmallDisk } from '../../kit/workspaces/small-disk.ts';
import {
  councilSeen,
  createSummonStage,
  type SummonStage,
  summoned
} from '../../kit/workspaces/summon-stage.ts';

const testMounted = needing('right to mount a disk', canMount());

let stage: SummonStage;
let server: McpClient;

beforeEach(async () => {
  stage = createSummonStage();
  server = await stage.serve();
});

afterEach(() => stage.close());

function start(request = 'Which language?') {
  return done(server, 'start_council', { agent_name: 'alice', request });
}

const waited = (more = {}) =>
  councilSeen(server, 'alice', 'wait_for_responses', more);

test('an agent of the previous council is reported as late, once, to its summoner', async () => {
  const { session_id } = await start();
  stage.hold();
  const { id } = await summoned(server);
  await start('Which database?');
  const other = await stage.serve();
  expect((await councilSeen(other, 'bob', 'join_council')).summons).toEqual([]);
  const told = await councilSeen(server, 'alice');
  expect(told.summons).toMatchObject([
    { agent_id: id, agent_name: 'oracle', status: 'late', session_id }
  ]);
  expect((await councilSeen(server, 'alice')).summons).toEqual([]);
  stage.letGo();
  expect(await stage.settled(id)).toMatchObject({ status: 'failed' });
  const seen = await waited({ timeout: 0.1 });
  expect(seen).toMatchObject({ timed_out: true, summons: [] });
  expect((await councilSeen(other, 'bob')).summons).toEqual([]);
  expect(stage.state().feedback).toEqual([]);
  await stage.marksAre();
});

test('one that is summoned meanwhile has a name of its own', async () => {
  await start();
  stage.hold();
  await summoned(server);
  await start('Which database?');
  const { name, id } = await summoned(server);
  expect(name).toBe('oracle#2');
  const { summons } = await councilSeen(server, 'alice');
  expect(summons.map(({ agent_name }) => agent_name)).toEqual([
    'oracle#2',
    'oracle'
  ]);
  const other = await stage.serve();
  const { summons: awaited } = await councilSeen(other, 'bob', 'join_council');
  expect(awaited).toMatchObject([{ agent_id: id, status: 'running' }]);
  stage.letGo();
  await stage.settled(id);
});

testMounted(
  'a failure that a full disk kept from being told is news yet',
  async () => {
    mkdirSync(dirname(stage.council));
    const disk = mountSmallDisk(dirname(stage.council), 512);
    try {
      await start();
      stage.answers('', 1);
      await stage.settled((await summoned(server)).id);
      await stage.marksAre();
      disk.fill();
      const args = { agent_name: 'alice' };
      const refused = await refusal(server.call('wait_for_responses', args));
      expect(refused.code).toBe('storage_full');
      disk.free();
      const heard = await waited();
      expect(heard.timed_out).toBeUndefined();
      expect(heard.summons).toMatchObject([{ status: 'failed' }]);
    } finally {
      disk.unmount();
    }
  }
);

test('an agent whose folder is removed is reported as started, and not awaited', async () => {
  await start();
  stage.hold();
  const { id } = await summoned(server);
  await until('its program', () => stage.asked().length > 0 || undefined);
  removeWhileUsed(join(stage.record, 'spawns', id));
  const { summons } = await waited();
  expect(summons).toMatchObject([
    {
      agent_id: id,
      status: 'failed',
      error: expect.stringContaining('Its folder was removed')
    }
  ]);
  stage.letGo();
});

test('a file in place of history is named, and nothing is changed', async () => {
  await start();
  const history = join(dirname(stage.council), 'history');
  writeFileSync(history, 'not a directory');
  const asked = { agent_name: 'alice', request: 'Which database?' };
  const refused = await refusal(server.call('start_council', asked));
  expect(refused).toMatchObject({ code: 'storage_unwritable' });
  expect(refused.error).toContain(`${history} is not a directory`);
  rmSync(history);
  await start('Which database?');
  expect(existsSync(history)).toBe(true);
});
