import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { namesIn } from '../../../src/core/state/files/directories.ts';
import {
  addNestingAgent,
  answersOf,
  type NestedAnswer,
  type NestedCall,
  nesterAt,
  spawnNester
} from '../agents/nesting-agent.ts';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** Servers of people, and agents that are clients of servers of their own. */
export interface NestingStage {
  workspace: TempWorkspace;
  serve: (
    env?: Record<string, string>,
    clientName?: string
  ) => Promise<McpClient>;
  /**
   * Agents that all have a server before any of them makes its calls, and
   * stay until all are answered. The servers of people have them in turn.
   */
  parents: (count: number, calls: NestedCall[]) => Promise<string[]>;
  /** Lets them go on; gives what each was answered. */
  answers: (ids: string[]) => Promise<NestedAnswer[][]>;
  letGo: () => void;
  /** Agents that were ever there. */
  agentsOnDisk: () => string[];
}

/** A stage that is taken down with the test. */
export function createNestingStage(
  settings: Record<string, unknown>
): NestingStage {
  const workspace = createTempWorkspace();
  const servers: McpClient[] = [];
  addNestingAgent(workspace, settings);
  onTestFinished(async () => {
    await cancelAll(servers[0]);
    for (const server of servers) {
      await server.close();
      expect(server.impurities).toEqual([]);
      expect(server.stderr).toBe('');
    }
    workspace.remove();
  });
  const file = (name: string) => join(workspace.path, name);
  const serverAt = (index: number) => {
    const server = servers[index % servers.length];
    if (!server) throw new Error('No server was started.');
    return server;
  };
  const letGo = () => {
    workspace.write('gate', '');
    workspace.write('end', '');
  };
  return {
    workspace,
    serve: async (env = {}, clientName = 'troupe-test') => {
      const server = await startServer(workspace, { env, clientName });
      servers.push(server);
      return server;
    },
    parents: async (count, calls) => {
      const [gate, until] = [file('gate'), file('end')];
      const what = { how: 'bare', gate, calls, until } as const;
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1)
        ids.push(await spawnNester(serverAt(index), what));
      for (const id of ids) await nesterAt('at the gate', workspace, id);
      return ids;
    },
    answers: async (ids) => {
      workspace.write('gate', '');
      for (const id of ids) await nesterAt('answered', workspace, id);
      letGo();
      return Promise.all(ids.map((id) => answersOf(serverAt(0), id)));
    },
    letGo,
    agentsOnDisk: () =>
      namesIn(join(workspace.record, 'spawns')).filter((name) =>
        /^[0-9a-f]{8}$/.test(name)
      )
  };
}

/** Nothing is left at work when the test is over. */
async function cancelAll(server: McpClient | undefined): Promise<void> {
  if (!server) return;
  const { data } = await server.call('list');
  for (const row of [data.queued, data.running].flat()) {
    const agent_id = Reflect.get(Object(row), 'id');
    await server.call('cancel_agent', { agent_id });
  }
}

/** An agent that works until it is canceled. */
export async function occupy(server: McpClient): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt: 'hang' });
  return String(data.agent_id);
}

/** How an agent learns that there is no slot for what it starts. */
export const atCapacity = {
  isError: true,
  data: {
    error_code: 'at_capacity',
    error: expect.stringContaining('Nothing was started'),
    hint: expect.stringContaining('maxConcurrent')
  }
};
