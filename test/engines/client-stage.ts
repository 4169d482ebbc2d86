import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { isAlive, processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import type { Action, Turn } from '../model-server/actions.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { type ClientSession, runClient } from './client-session.ts';
import type { Client } from './clients.ts';
import { userEnvironment } from './clis.ts';

/** What the user asks of a client; the model follows a script then. */
const delegate = 'Delegate this.';

const flags = ['--engines', 'rehearsal'];

/** For what ends after its client. */
const patienceMs = 20_000;

/** A script that needs more of them is lost. */
const mostTurns = 60;

/** A workspace, and a model that follows a script when asked to delegate. */
export class ClientStage {
  readonly workspace: TempWorkspace;
  readonly model: ModelServer;
  /** Every turn in which the model followed the script. */
  readonly turns: Turn[];

  constructor(workspace: TempWorkspace, model: ModelServer, turns: Turn[]) {
    this.workspace = workspace;
    this.model = model;
    this.turns = turns;
  }

  /** What the tools called so far have answered, as the model saw it. */
  get results(): string[] {
    return this.turns.at(-1)?.toolResults ?? [];
  }

  /** Runs a client to the end of its turn; gives its answer. */
  run(client: Client, more: Partial<ClientSession> = {}): Promise<string> {
    const { workspace, model } = this;
    const session = { workspace, model, prompt: delegate, flags, ...more };
    return runClient(client, session);
  }

  /** A server of another client on the same workspace. */
  async serve(options: ServerOptions = {}): Promise<McpClient> {
    const env = { ...userEnvironment(), ...options.env };
    const its = { flags, ...options, env };
    const server = await startServer(this.workspace, its);
    onTestFinished(async () => {
      await server.close();
    });
    return server;
  }

  /** The server that spawned an agent. */
  ownerOf(agentId: string): number {
    const folder = join(this.#spawns, agentId);
    const text = readFileSync(join(folder, 'record.json'), 'utf8');
    return JSON.parse(text).owner.pid;
  }

  /** Waits until neither an agent nor a server of theirs is left. */
  async end(): Promise<void> {
    const names = existsSync(this.#spawns) ? readdirSync(this.#spawns) : [];
    const ids = names.filter((name) => name !== '.gitignore');
    const isGone = (id: string) =>
      processesOf(id).length === 0 && !isAlive(this.ownerOf(id));
    const allGone = () => ids.every(isGone) || undefined;
    await until('the end of all agents and servers', allGone, patienceMs);
    await this.model.close();
    this.workspace.remove();
  }

  get #spawns(): string {
    return join(this.workspace.record, 'spawns');
  }
}

/** A stage that is taken down with the test; nothing may be left by then. */
export async function createClientStage(
  script: (turn: Turn) => Action[],
  prompt = delegate
): Promise<ClientStage> {
  const turns: Turn[] = [];
  // A client would try for minutes what its provider answers with an error.
  const told = (turn: Turn) => {
    try {
      return script(turn);
    } catch (error) {
      return say(String(error));
    }
  };
  const model = await startModelServer({
    script: (turn) => {
      if (turn.prompt !== prompt) return undefined;
      turns.push(turn);
      return turns.length > mostTurns ? say('Too many turns.') : told(turn);
    }
  });
  const stage = new ClientStage(createTempWorkspace(), model, turns);
  onTestFinished(() => stage.end(), 2 * patienceMs);
  return stage;
}

function say(text: string): Action[] {
  return [{ do: 'say', text }];
}

/** A call of one of our tools. */
export function mcp(tool: string, args: object = {}): Action {
  return { do: 'mcp', server: 'agents', tool, arguments: args };
}

/** The id in the answer to the first tool call; empty before there is one. */
export function spawnedIn(turn: Turn): string {
  return idIn(turn.toolResults[0] ?? '') ?? '';
}

export function idIn(answer: string): string | undefined {
  return /agent_id\W+([0-9a-f]{8})/.exec(answer)?.[1];
}
