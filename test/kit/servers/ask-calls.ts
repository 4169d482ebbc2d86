import { expect } from 'vitest';
import type { McpClient } from './mcp-client.ts';

/** Starts a rehearsal that asks, at the access `read` unless told otherwise. */
export async function spawnAsker(
  server: McpClient,
  script: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const { data, isError } = await server.call('spawn_rehearsal', {
    prompt: script,
    access: 'read',
    ask: 'coordinator',
    ...more
  });
  expect(isError, JSON.stringify(data)).toBe(false);
  return String(data.agent_id);
}

/**
 * Waits until the agents ask, however many calls that takes: one ends after
 * 50 s. The answer has one ask at least.
 */
export async function asksOf(
  server: McpClient,
  agentIds?: string[]
): Promise<Record<string, unknown>[]> {
  const input = agentIds ? { agent_ids: agentIds } : {};
  for (;;) {
    const { data } = await server.call('wait_for_agents', input);
    if (data.status === 'timeout') continue;
    expect(data).toMatchObject({ status: 'needs_answer' });
    return data.asks as Record<string, unknown>[];
  }
}

/** The id of the first ask of an agent. */
export async function askOf(
  server: McpClient,
  agentId: string
): Promise<string> {
  const [ask] = await asksOf(server, [agentId]);
  return String(ask?.ask_id);
}

/** What an agent says in the end. */
export async function resultOf(
  server: McpClient,
  agentId: string
): Promise<string> {
  for (;;) {
    const { data } = await server.call('wait_for_agents', {
      agent_ids: [agentId]
    });
    if (data.status !== 'all_completed') continue;
    const { data: end } = await server.call('result', { agent_id: agentId });
    return `${end.status}: ${end.result}`;
  }
}
