import {
  createHost,
  type HttpServer,
  loadConfig,
  serveHttp
} from '../../src/index.ts';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import { inputTools } from './fixture-inputs.ts';
import { servePrompts } from './fixture-prompts.ts';
import { serveResources } from './fixture-resources.ts';
import { fixtureTools } from './fixture-tools.ts';

/** A server of ours with what the suite asks for, by the public API alone. */
export async function startFixture(
  { path, home }: TempWorkspace,
  token: string
): Promise<HttpServer> {
  const host = await createHost(
    await loadConfig({ workspace: path, engines: 'rehearsal' }, { HOME: home })
  );
  const server = await serveHttp(host, {
    address: '127.0.0.1:0',
    token,
    tools: [...fixtureTools, ...inputTools],
    capabilities: {
      prompts: {},
      completions: {},
      logging: {},
      resources: { subscribe: true }
    },
    prepare: (one) => {
      servePrompts(one);
      serveResources(one);
    }
  });
  return {
    ...server,
    close: async () => {
      await server.close();
      await host.close();
    }
  };
}
