import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { linesOf, processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { type McpClient, startServer } from '../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { apiOf, aside } from '../model-server/apis.ts';
import { record } from '../model-server/json.ts';
import {
  type ModelServer,
  startModelServer,
  type Turn
} from '../model-server/server.ts';
import { furnishHome, type RealCli, userEnvironment } from './clis.ts';
import { noteRun } from './run-notes.ts';

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
  /** Of its engine, in addition to the address. */
  settings?: object;
  /** The seconds of `asks.parkAfter`. */
  parkAfter?: number;
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
    this.#unlock();
    return startedId(await this.server.call(tool, input));
  }

  /** Continues an agent, which must start. */
  async resume(
    agent_id: string,
    prompt: string,
    timeout = 60
  ): Promise<string> {
    const input = { agent_id, prompt, timeout };
    this.#unlock();
    return startedId(await this.server.call('continue_agent', input));
  }

  /** How an agent ended, once it has. */
  async result(agentId: string): Promise<Record<string, unknown>> {
    for (;;) {
      const { data } = await this.server.call('wait_for_agents', {
        agent_ids: [agentId]
      });
      if (data.status === 'timeout') continue;
      noteRun(this.cli.name, this.workspace.record, agentId);
      return (await this.server.call('result', { agent_id: agentId })).data;
    }
  }

  /** Spawns an agent and waits for its end. */
  async run(prompt: string, more: Record<string, unknown> = {}) {
    return this.result(await this.start(prompt, more));
  }

  /** Bodies of the model requests, as the model got them. */
  bodies(): string[] {
    return this.#posts().map(({ body }) => JSON.stringify(body));
  }

  /** Whether the last turn is about these words. */
  isAsked(words: string): boolean {
    return this.turns().at(-1)?.prompt.includes(words) ?? false;
  }

  /** Requests of the conversation, without auxiliary ones. */
  turns(): Turn[] {
    return this.#posts().flatMap(({ path, body }, index) => {
      const { pathname } = new URL(path, 'http://localhost');
      const api = aside(pathname, body) ? undefined : apiOf(pathname);
      return api ? [api.readTurn(record(body), index, pathname)] : [];
    });
  }

  #posts() {
    return this.model.requests.filter(({ method }) => method === 'POST');
  }

  /** One agent at a time starts on a stage, so the lock is free. */
  #unlock(): void {
    const { lock } = this.cli;
    if (!lock) return;
    const path = join(this.workspace.home, lock);
    rmSync(path, { recursive: true, force: true });
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
    const { parkAfter } = options;
    const engines = { [cli.name]: { baseUrl, ...options.settings } };
    const asks = parkAfter === undefined ? {} : { asks: { parkAfter } };
    configure(workspace, engines, asks);
  }
  const stage = new Stage(cli, workspace, model, options);
  onTestFinished(() => stage.remove());
  await stage.serve();
  return stage;
}

/** An agent whose tool's shell runs, with a child, and never ends. */
export async function inTheMiddleOfATool(
  cli: RealCli,
  more: Record<string, unknown> = {},
  options: StageOptions = {}
): Promise<{ stage: Stage; id: string }> {
  const stage = await createStage(cli, options);
  const file = join(stage.workspace.path, 'pids');
  // Gemini CLI takes "sh -c" off the beginning of a command.
  const command = `:; sh -c 'echo $$ >${file}; tail -f /dev/null; :'; echo no`;
  const id = await stage.start(`[[shell: ${command}]] [[say: Never.]]`, more);
  // Created first, written to then.
  const tool = await until('the tool', () => linesOf(file)?.[0] || undefined);
  // The mark shows later that nothing is left.
  expect(processesOf(id)).toContain(Number(tool));
  return { stage, id };
}

/** Writes the `engines` of a troupe.config.json, and other settings. */
export function configure(
  workspace: TempWorkspace,
  engines: object,
  more: object = {}
): void {
  const settings = { engines, ...more };
  workspace.write('troupe.config.json', JSON.stringify(settings));
}

function startedId({ data, text }: { data: object; text: string }): string {
  const { status, agent_id } = data as { status?: string; agent_id?: string };
  if ((status !== 'running' && status !== 'queued') || !agent_id)
    throw new Error(text);
  return agent_id;
}
