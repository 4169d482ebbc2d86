import { chmodSync } from 'node:fs';
import { expect } from 'vitest';
import { type ApiName, apiEngines } from '../../provider-fake/asked.ts';
import {
  type ProviderFake,
  startProviderFake
} from '../../provider-fake/fake.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../servers/mcp-client.ts';
import { agentsAlive } from './step-workspace.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** A workspace whose API engines reach providers on loopback. */
export interface ApiWorkspace extends TempWorkspace {
  fakes: Record<ApiName, ProviderFake>;
  /** Writes the configuration; the engines' addresses are added. */
  configure: (settings: object, engine?: object) => void;
  /** Writes api_keys.json for the owner alone. */
  keys: (keys: object) => void;
  start: (options?: ServerOptions) => Promise<McpClient>;
  /** Agents whose processes are still there, by id. */
  survivors: () => string[];
  close: () => Promise<void>;
}

/** The first name under which each engine's key is looked for. */
export const keyNames: Record<ApiName, string> = {
  grok: 'XAI_API_KEY',
  gemini: 'GEMINI_API_KEY',
  mistral: 'MISTRAL_API_KEY',
  openai: 'OPENAI_API_KEY',
  'claude-api': 'ANTHROPIC_API_KEY'
};

export async function createApiWorkspace(): Promise<ApiWorkspace> {
  const workspace = createTempWorkspace();
  const started = await Promise.all(
    apiEngines.map(async (name) => [name, await startProviderFake(name)])
  );
  const fakes: Record<ApiName, ProviderFake> = Object.fromEntries(started);
  const perEngine = <T>(of: (name: ApiName) => T): Record<string, T> =>
    Object.fromEntries(apiEngines.map((name) => [name, of(name)]));
  const servers: McpClient[] = [];
  const made: ApiWorkspace = {
    ...workspace,
    fakes,
    configure: (settings, engine = {}) => {
      const engines = perEngine((name) => ({
        baseUrl: fakes[name].url,
        ...engine
      }));
      workspace.write(
        '.trouperc.json',
        JSON.stringify({ ...settings, engines })
      );
    },
    keys: (keys) =>
      chmodSync(workspace.write('api_keys.json', JSON.stringify(keys)), 0o600),
    start: async (options) => {
      const server = await startServer(workspace, options);
      servers.push(server);
      return server;
    },
    survivors: () => agentsAlive(workspace),
    close: async () => {
      for (const server of servers) await server.close();
      for (const fake of Object.values(fakes)) await fake.close();
      workspace.remove();
    }
  };
  made.configure({});
  made.keys(
    Object.fromEntries(
      apiEngines.map((name) => [keyNames[name], fakes[name].key])
    )
  );
  return made;
}

/** Spawns an API agent; it runs. */
export async function spawnApi(
  server: McpClient,
  engine: ApiName,
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const tool = `spawn_${engine.replace('-', '_')}`;
  const { data, text } = await server.call(tool, { prompt, ...more });
  expect(data.status, text).toMatch(/^(running|queued)$/);
  return String(data.agent_id);
}

/** What `result` says once an agent has ended. */
export async function ended(
  server: McpClient,
  agent_id: string
): Promise<Record<string, unknown>> {
  const wait = () => server.call('wait_for_agents', { agent_ids: [agent_id] });
  while ((await wait()).data.status === 'timeout');
  return (await server.call('result', { agent_id })).data;
}
