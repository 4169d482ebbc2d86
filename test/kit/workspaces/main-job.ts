import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { z } from 'zod';
import type { McpClient } from '../servers/mcp-client.ts';

const results = z.array(
  z.object({ status: z.string(), cost_usd: z.number().nullable() })
);

/**
 * Every engine answers what it is asked, built-in roles and that of the
 * project, "poet", are there, and people can read of it in the folder. Ends
 * the server.
 */
export async function doesTheMainJob(
  server: McpClient,
  folder: string,
  engines: readonly string[]
): Promise<void> {
  const ids: unknown[] = [];
  for (const engine of engines) {
    const tool = `spawn_${engine.replaceAll('-', '_')}`;
    const { data, text } = await server.call(tool, { prompt: 'say hello' });
    expect(data.status, text).toBe('running');
    ids.push(data.agent_id);
  }
  const { data } = await server.call('wait_for_agents', { agent_ids: ids });
  const ended = results.parse(data.results);
  expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
  // Prices are a library of their own; not every model has one.
  expect(Math.max(...ended.map((one) => one.cost_usd ?? 0))).toBeGreaterThan(0);
  const roles = JSON.stringify((await server.call('list_roles')).data);
  for (const role of ['poet', 'architect']) expect(roles).toContain(role);
  // It is written at most once a second.
  await vi.waitFor(() => {
    const log = readFileSync(join(folder, 'logs/IAC.md'), 'utf8');
    for (const id of ids) expect(log).toContain(String(id));
  }, 10_000);
  expect(server.impurities).toEqual([]);
  await server.close();
}
