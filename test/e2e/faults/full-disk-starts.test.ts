import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { canMount, makeSmallDisk } from '../../kit/workspaces/small-disk.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

const testMounted = needing('right to mount a disk', canMount());

/** A server with one slot, whose files are on a small disk. */
async function serverOnDisk() {
  const disk = makeSmallDisk(2048, 500);
  onTestFinished(disk.unmount);
  const workspace = createTempWorkspace(disk.directory);
  addGateAgent(workspace);
  const config = { plugins: ['./gate.mjs'], maxConcurrent: 1 };
  workspace.write('troupe.config.json', JSON.stringify(config));
  const server = await startServer(workspace);
  onTestFinished(async () => {
    await server.close();
    expect(server.impurities).toEqual([]);
  });
  return { disk, workspace, server };
}

async function spawned(server: McpClient, gate: string): Promise<string> {
  const { data, text } = await server.call('spawn_gate', { prompt: gate });
  expect(data.agent_id, text).toBeDefined();
  return String(data.agent_id);
}

/** Ids of the agents that are listed as running and as queued. */
async function listed(server: McpClient) {
  const { data } = await server.call('list');
  const idsOf = (agents: unknown) =>
    (agents as { id: string }[]).map(({ id }) => id);
  return { running: idsOf(data.running), queued: idsOf(data.queued) };
}

for (const what of ['bytes', 'files'] as const)
  testMounted(
    `agents that wait for a slot stay queued on a disk without free ${what}, and run in their order when there is room`,
    async () => {
      // Never on the small disk.
      const arena = mkdtempSync(join(tmpdir(), 'troupe-arena-'));
      onTestFinished(() => rmSync(arena, { recursive: true }));
      const gate = join(arena, 'gate');
      const { disk, workspace, server } = await serverOnDisk();
      const first = await spawned(server, gate);
      const queued: string[] = [];
      for (let one = 0; one < 3; one += 1)
        queued.push(await spawned(server, gate));
      expect(await listed(server)).toEqual({ running: [first], queued });
      await saidAnswer(workspace, first);
      disk.fill(what);
      writeFileSync(gate, '');
      await until('an attempt', async () => {
        const { running } = await listed(server);
        return running.length === 0;
      });
      expect(await listed(server)).toEqual({ running: [], queued });
      expect(server.stderr).toContain('Agents stay queued');
      for (const agent_id of queued) {
        const { data } = await server.call('result', { agent_id });
        expect(data.status).toBe('queued');
      }
      disk.free();
      const agent_ids = [first, ...queued];
      await server.call('wait_for_agents', { agent_ids, timeout: 30 });
      for (const agent_id of agent_ids) {
        const { data } = await server.call('result', { agent_id });
        expect(data).toMatchObject({ status: 'completed', result: 'answer' });
      }
      const starts = agent_ids.map(
        (id) => statSync(join(workspace.record, 'spawns', id, 'claim')).mtimeMs
      );
      expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    }
  );
