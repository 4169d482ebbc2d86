import { expect } from 'vitest';
import { z } from 'zod';
import type { CouncilState } from '../../../src/core/council/state.ts';
import { until } from '../judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../workspaces/temp-workspace.ts';
import {
  type CouncilServerOptions,
  councilFileOf,
  councilIn,
  startCouncilServer
} from './council-servers.ts';
import type { McpClient, ToolResult } from './mcp-client.ts';

/** Servers of one council, in a HOME of their own. */
export interface CouncilServers {
  workspace: TempWorkspace;
  /** The council's file. */
  path: string;
  /** What the file holds now. */
  state: () => CouncilState;
  /** Starts one more `council mcp`. */
  start: (options?: CouncilServerOptions) => Promise<McpClient>;
  /** Kills one as a crash would. */
  kill: (server: McpClient) => Promise<void>;
  /** Ends all, and checks that each did well and kept its output clean. */
  close: () => Promise<void>;
}

export function createCouncilServers(): CouncilServers {
  const workspace = createTempWorkspace();
  const path = councilFileOf(workspace);
  const servers: McpClient[] = [];
  return {
    workspace,
    path,
    state: () => councilIn(path),
    start: async (options) => {
      const server = await startCouncilServer(workspace, options);
      servers.push(server);
      return server;
    },
    kill: async (server) => {
      server.child.kill('SIGKILL');
      await server.exited;
    },
    close: async () => {
      const ends = await Promise.all(servers.map((server) => server.close()));
      workspace.remove();
      for (const { code, signal } of ends)
        expect(signal ?? code).toBe(signal ? 'SIGKILL' : 0);
      for (const { impurities, stderr } of servers)
        expect({ impurities, stderr }).toEqual({ impurities: [], stderr: '' });
    }
  };
}

const text = z.strictObject({
  content: z.string(),
  truncated: z.literal(true).optional(),
  total_chars: z.number().optional(),
  next_offset: z.number().optional(),
  full_output: z.string().optional()
});

/** Every field that a view may have, outside of summons. */
const viewSchema = z.strictObject({
  agent_name: z.string(),
  session_id: z.string(),
  status: z.enum(['active', 'closed']),
  source: z.literal('agent'),
  request: text.partial({ content: true }).extend({
    id: z.string(),
    created_by: z.string(),
    created_at: z.string()
  }),
  responses: z.array(
    text.extend({ id: z.string(), author: z.string(), created_at: z.string() })
  ),
  next_cursor: z.string().nullable(),
  more: z.boolean(),
  participants: z.array(
    z.strictObject({
      agent_name: z.string(),
      last_seen: z.string(),
      responses: z.number()
    })
  ),
  participants_total: z.number().optional(),
  conclusion: text
    .extend({ author: z.string(), created_at: z.string() })
    .optional(),
  timed_out: z.literal(true).optional(),
  message: z.string().optional()
});

export type CouncilView = z.output<typeof viewSchema>;

type ViewTool =
  | 'join_council'
  | 'get_current_session_data'
  | 'wait_for_responses';

/** The view in an answer. @throws when it is an error, or none */
export function viewIn({ data, isError }: ToolResult): CouncilView {
  if (isError) throw new Error(JSON.stringify(data));
  return viewSchema.parse(data);
}

/** The view of a call that must succeed. */
export async function viewOf(
  server: McpClient,
  tool: ViewTool,
  agent_name: string,
  more: Record<string, unknown> = {}
): Promise<CouncilView> {
  return viewIn(await server.call(tool, { agent_name, ...more }));
}

/** The facts of a call that must succeed. */
export async function done(
  server: McpClient,
  tool: string,
  args: Record<string, unknown>
): Promise<Record<string, unknown>> {
  const { data, isError } = await server.call(tool, args);
  if (isError) throw new Error(JSON.stringify(data));
  return data;
}

/** What a call that must fail says. */
export async function refusal(
  answer: Promise<ToolResult>
): Promise<{ code: string; error: string; hint: string }> {
  const { data, isError } = await answer;
  expect(isError).toBe(true);
  const { error_code, error, hint } = data;
  return { code: String(error_code), error: String(error), hint: String(hint) };
}

/** Starts a wait; resolves when the server says that it is under way. */
export async function waiting(
  server: McpClient,
  args: Record<string, unknown>
): Promise<{ answer: Promise<ToolResult> }> {
  const before = server.notifications.length;
  const answer = server.call('wait_for_responses', args, {
    progressToken: `wait ${before}`
  });
  await progress(server, before);
  return { answer };
}

/** Resolves after this many progress notifications of a call. */
export async function progress(server: McpClient, before = 0): Promise<void> {
  await until('a call to tell how far it is', () =>
    server.notifications
      .slice(before)
      .find(({ method }) => method === 'notifications/progress')
  );
}
