import { onTestFinished } from 'vitest';
import { type McpClient, startServer } from '../mcp-client.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { createTempWorkspace, type TempWorkspace } from '../temp-workspace.ts';
import { furnishHome, type RealCli, userEnvironment } from './clis.ts';

export interface StageOptions {
  /** In place of the model server's address. */
  baseUrl?: string;
  /** Leaves the address out of the configuration file. */
  unconfigured?: boolean;
  /** Taken out of the user's environment. */
  without?: string[];
  /** Added to the user's environment. */
  env?: (stage: Pick<Stage, 'model' | 'workspace'>) => Record<string, string>;
  flags?: string[];
  /** Leaves HOME empty. */
  unfurnished?: boolean;
}

/** A workspace with an empty HOME, a model, and our server between them. */
export class Stage {
  readonly cli: RealCli;
  readonly workspace: TempWorkspace;
  readonly model: ModelServer;
  readonly #environment: Record<string, string>;
  readonly #flags: string[];
  readonly #servers: McpClient[] = [];

  constructor(
    cli: RealCli,
    workspace: TempWorkspace,
    model: ModelServer,
    options: StageOptions
  ) {
    this.cli = cli;
    this.workspace = workspace;
    this.model = model;
    this.#flags = options.flags ?? [];
    this.#environment = {
      ...userEnvironment(cli),
      ...options.env?.({ model, workspace })
    };
    for (const name of options.without ?? []) delete this.#environment[name];
  }

  /** The server that was started last. */
  get server(): McpClient {
    const last = this.#servers.at(-1);
    if (!last) throw new Error('No server was started.');
    return last;
  }

  /** One more server on the same workspace. */
  async serve(): Promise<void> {
    const env = this.#environment;
    const flags = this.#flags;
    this.#servers.push(await startServer(this.workspace, { env, flags }));
  }

  /** Spawns an agent, which must start. */
  async start(
    prompt: string,
    more: Record<string, unknown> = {}
  ): Promise<string> {
    const { tool } = this.cli;
    const input = { prompt, timeout: 60, ...more };
    return startedId(await this.server.call(tool, input));
  }

  /** Continues an agent, which must start. */
  async resume(agent_id: string, prompt: string): Promise<string> {
    const input = { agent_id, prompt, timeout: 60 };
    return startedId(await this.server.call('continue_agent', input));
  }

  /** How an agent ended, once it has. */
  async result(agentId: string): Promise<Record<string, unknown>> {
    for (;;) {
      const { data } = await this.server.call('wait_for_agents', {
        agent_ids: [agentId]
      });
      if (data.status === 'timeout') continue;
      return (await this.server.call('result', { agent_id: agentId })).data;
    }
  }

  /** Spawns an agent and waits for its end. */
  async run(prompt: string, more: Record<string, unknown> = {}) {
    return this.result(await this.start(prompt, more));
  }

  /** Bodies of the model requests, as the model got them. */
  bodies(): string[] {
    return this.model.requests
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => JSON.stringify(body));
  }

  async remove(): Promise<void> {
    const { data } = await this.server.call('list');
    const running = data.running as { id: string }[];
    for (const { id } of running)
      await this.server.call('cancel_agent', { agent_id: id });
    for (const server of this.#servers) await server.close();
    await this.model.close();
    this.workspace.remove();
  }
}

/** A stage with one server; taken down with the test. */
export async function createStage(
  cli: RealCli,
  options: StageOptions = {}
): Promise<Stage> {
  const workspace = createTempWorkspace();
  const model = await startModelServer();
  if (!options.unfurnished) furnishHome(workspace.home, [cli]);
  if (!options.unconfigured) {
    const baseUrl = options.baseUrl ?? model.url;
    configure(workspace, { [cli.name]: { baseUrl } });
  }
  const stage = new Stage(cli, workspace, model, options);
  onTestFinished(() => stage.remove());
  await stage.serve();
  return stage;
}

/** Writes the `engines` of a troupe.config.json. */
export function configure(workspace: TempWorkspace, engines: object): void {
  workspace.write('troupe.config.json', JSON.stringify({ engines }));
}

function startedId({ data, text }: { data: object; text: string }): string {
  const { status, agent_id } = data as { status?: string; agent_id?: string };
  if (status !== 'running' || !agent_id) throw new Error(text);
  return agent_id;
}
