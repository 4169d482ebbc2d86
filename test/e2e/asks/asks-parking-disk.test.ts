import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { processesOf } from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { resultOf, spawnAsker } from '../../kit/servers/ask-calls.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { canMount, makeSmallDisk } from '../../kit/workspaces/small-disk.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

const test = needing('right to mount a disk', canMount());

/** An agent on a small disk, which is parked soon unless the disk is full. */
async function stage(parkAfter: number) {
  const disk = makeSmallDisk(16 * 1024);
  onTestFinished(() => disk.unmount());
  const workspace = createTempWorkspace(disk.directory);
  onTestFinished(() => workspace.remove());
  const settings = { engines: { rehearsal: true }, asks: { parkAfter } };
  workspace.write('.trouperc.json', JSON.stringify(settings));
  const server = await startServer(workspace);
  onTestFinished(async () => {
    await server.close();
  });
  const id = await spawnAsker(server, 'permit make', { ask_timeout: 60 });
  const file = (name: string) =>
    join(workspace.record, 'spawns', id, 'asks', name);
  const there = (name: string) => until(name, () => existsSync(file(name)));
  const answer = () =>
    server.call('answer_agent', { ask_id: `${id}-1`, decision: 'allow' });
  return { disk, server, id, there, answer };
}

test('a parked agent survives a full disk, and goes on when there is room', async () => {
  const { disk, server, id, there, answer } = await stage(0.2);
  await there('cleared');
  disk.fill();
  const refused = await answer();
  expect(refused.data).toMatchObject({ error_code: 'storage_full' });
  disk.free();
  await answer();
  expect(await resultOf(server, id)).toContain('allowed make');
  await until('the end of all processes', () => processesOf(id).length === 0);
});

test('an agent that cannot be parked on a full disk has its answer as before', async () => {
  const { disk, server, id, there, answer } = await stage(2);
  await there('1.json');
  disk.fill();
  await until('a time to park', async () => {
    const { data } = await server.call('list');
    const [{ waiting_seconds: waited }] = data.asking as [
      { waiting_seconds: number }
    ];
    return waited > 3;
  });
  disk.free();
  await answer();
  expect(await resultOf(server, id)).toContain('allowed make');
});
