import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

/** As many as a workspace has after some weeks. */
const count = 400;

let stage: OrchestratorStage;
let master: McpClient;
let living: string;

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
  const { agent_id } = await createdWorker(master, { role: 'r'.repeat(500) });
  await answerOf(master, 'agent_delete', { agent_id });
  const meta = readFileSync(stage.file(agent_id, 'meta.json'), 'utf8');
  const own = join(stage.record, 'workers');
  for (let index = 1; index < count; index += 1) {
    const id = index.toString(16).padStart(8, '0');
    cpSync(stage.file(agent_id, ''), stage.file(id, ''), { recursive: true });
    cpSync(join(own, agent_id), join(own, id), { recursive: true });
    const its = meta.replace(agent_id, id);
    writeFileSync(stage.file(id, 'meta.json'), its, { mode: 0o600 });
  }
  ({ agent_id: living } = await createdWorker(master));
});

afterAll(() => stage?.close());

describe('a workspace that has had hundreds of workers', () => {
  test.each([
    ['any client', 20_500],
    ['codex-mcp-client', 11_500]
  ])(
    'is returned to %s in bounds, living ones first',
    async (clientName, bytes) => {
      const server = await stage.serve({ clientName });
      const args = { scope: 'all' };
      const { data, text } = await server.call('agent_list', args);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes);
      expect(data).toMatchObject({ agents_total: count + 1 });
      const [first, ...others] = await workersSeen(server, 'all');
      expect(first).toMatchObject({ agent_id: living, status: 'ready' });
      expect(others.length).toBeGreaterThan(10);
    }
  );

  test('lists the workers of the run, and answers soon', async () => {
    const agents = await workersSeen(master);
    expect(agents.map(({ agent_id }) => agent_id)).toContain(living);
    const began = performance.now();
    await answerOf(master, 'events_read', { agent_id: living });
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
