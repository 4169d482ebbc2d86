import { onTestFinished } from 'vitest';
import {
  type CommandOptions,
  type CommandResult,
  runCommand
} from '../kit/servers/command-line.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';

/** Brings a symptom about. @returns what troupe says then */
export type Provoke = (place: Place) => Promise<string>;

/** A project with nothing in it, taken away with the test. */
export interface Place {
  workspace: TempWorkspace;
  configure: (config: Record<string, unknown>) => void;
  serve: (options?: ServerOptions) => Promise<McpClient>;
  /** A `troupe` command, run to its end. */
  run: (args: string[], options?: CommandOptions) => Promise<CommandResult>;
}

export function createPlace(): Place {
  const workspace = createTempWorkspace();
  const servers: McpClient[] = [];
  onTestFinished(async () => {
    for (const server of servers) await server.close();
    workspace.remove();
  });
  return {
    workspace,
    configure: (config) =>
      workspace.write('troupe.config.json', JSON.stringify(config)),
    serve: async (options) => {
      const server = await startServer(workspace, options);
      servers.push(server);
      return server;
    },
    run: (args, options) => runCommand(workspace, args, options)
  };
}

/** Rehearsal is on, agents are ended with their server. */
export const rehearsed = {
  engines: { rehearsal: true },
  onDisconnect: 'stop'
};

/** A call's answer as its text has it, or the field that is named. */
export async function said(
  server: Pick<McpClient, 'call'>,
  tool: string,
  args: Record<string, unknown> = {},
  field = 'error'
): Promise<string> {
  const { data } = await server.call(tool, args);
  const value = data[field];
  return typeof value === 'string' ? value : JSON.stringify(data);
}

/** Spawns an agent of rehearsal. @returns its id */
export async function rehearse(
  server: Pick<McpClient, 'call'>,
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const input = { prompt, ...more };
  const { data } = await server.call('spawn_rehearsal', input);
  return String(data.agent_id);
}

/** How an agent has ended, once it has. */
export async function ended(
  server: Pick<McpClient, 'call'>,
  agentId: string
): Promise<Record<string, unknown>> {
  await server.call('wait_for_agents', { agent_ids: [agentId] });
  return (await server.call('result', { agent_id: agentId })).data;
}
