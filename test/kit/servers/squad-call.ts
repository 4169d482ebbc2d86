import { expect } from 'vitest';
import type { McpClient, ToolResult } from './mcp-client.ts';

/** A member as `start_squad_members` answers it. */
export interface MemberAnswer {
  memberId: string;
  roleId: string;
  cwd: string;
  status: string;
  rawStdout: string;
  rawStderr: string;
  result: string;
  agentId: string;
  chatId?: string | null;
  error?: string;
  error_code?: string;
  [more: string]: unknown;
}

export interface SquadAnswer {
  squadId: string;
  members: MemberAnswer[];
  /** When not all have room. */
  members_total?: number;
  message?: string;
}

export interface MemberInput {
  roleId: string;
  task: string;
  cwd?: string;
  chatId?: string | null;
}

/** Starts a squad that is in order, and gives its answer. */
export async function startSquad(
  server: McpClient,
  members: MemberInput[],
  more: Record<string, unknown> = {},
  meta?: Record<string, unknown>
): Promise<SquadAnswer> {
  const args = { members, ...more };
  const answer = await server.call('start_squad_members', args, meta);
  expect(answer.isError, answer.text).toBe(false);
  return squadIn(answer);
}

/** Starts one member and gives its part of the answer. */
export async function startMember(
  server: McpClient,
  member: MemberInput
): Promise<MemberAnswer> {
  const { members } = await startSquad(server, [member]);
  const [only] = members;
  if (!only) throw new Error('No member in the answer');
  return only;
}

export function squadIn({ data, text }: ToolResult): SquadAnswer {
  expect(JSON.parse(text)).toEqual(data);
  // The wire: what is asserted of it is what the test is about.
  return data as unknown as SquadAnswer;
}

/** The error of a call that has to be refused. */
export async function refusal(
  server: McpClient,
  members: unknown,
  more: Record<string, unknown> = {}
): Promise<{ error_code: unknown; error: string; hint: string }> {
  const args = { members, ...more };
  const { isError, data, text } = await server.call(
    'start_squad_members',
    args
  );
  expect(isError, text).toBe(true);
  const { error_code, error, hint } = data;
  return { error_code, error: String(error), hint: String(hint) };
}

/** What `wait_for_agents` says when a whole squad has ended. */
export async function waitForSquad(
  server: McpClient,
  squadId: string
): Promise<Record<string, unknown>[]> {
  for (;;) {
    const { data, text } = await server.call('wait_for_agents', { squadId });
    if (data.status === 'timeout') continue;
    expect(data.status, text).toBe('all_completed');
    return data.results as Record<string, unknown>[];
  }
}
