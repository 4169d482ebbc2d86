import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processTable } from '../../../src/adapters/child-process/process-table.ts';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { commandOf } from '../judges/command-of.ts';
import type { Random } from '../judges/random.ts';
import { faultsOf } from '../judges/worker-judge.ts';
import type { McpClient, ToolResult } from '../servers/mcp-client.ts';
import type { OrchestratorStage } from '../servers/orchestrator-stage.ts';

/** The target of a fault; `both`: master and program. */
export type Victim = 'program' | 'worker-server' | 'master' | 'both';

export const victims: Victim[] = ['program', 'worker-server', 'master', 'both'];

/** A master that is started again whenever it was killed. */
export class Master {
  readonly #stage: OrchestratorStage;
  #server: Promise<McpClient>;

  constructor(stage: OrchestratorStage) {
    this.#stage = stage;
    this.#server = stage.serve();
  }

  /** Undefined when it was killed before it answered. */
  async call(
    tool: string,
    args: Record<string, unknown> = {}
  ): Promise<ToolResult | undefined> {
    const server = await this.#server;
    try {
      return await server.call(tool, args);
    } catch (error) {
      if (server === (await this.#server)) throw error;
      return undefined;
    }
  }

  /** Calls until there is an answer, and gives that. */
  async insist(tool: string, args: Record<string, unknown> = {}) {
    for (;;) {
      const answer = await this.call(tool, args);
      if (answer) return answer;
    }
  }

  /** The one that lives now. */
  server(): Promise<McpClient> {
    return this.#server;
  }

  async kill(): Promise<void> {
    const server = await this.#server;
    const killed = this.#stage.kill(server);
    this.#server = killed.then(() => this.#stage.serve());
    await killed;
  }

  async close(): Promise<void> {
    await (await this.#server).close();
  }
}

/** Kills or pauses what belongs to a worker, and counts that. */
export class Fire {
  /** What was done, to explain a failure. */
  readonly story: string[] = [];
  kills = 0;
  readonly #master: Master;
  readonly #random: Random;

  constructor(master: Master, random: Random) {
    this.#master = master;
    this.#random = random;
  }

  /** A random moment. */
  async moment(mostMs: number): Promise<void> {
    await delay(this.#random.between(0, mostMs));
  }

  async kill(victim: Victim, agentId: string): Promise<void> {
    this.story.push(`kill ${victim}`);
    const pids = pidsOf(agentId);
    if (victim === 'program' || victim === 'both')
      this.#signal(pids.program, 'SIGKILL');
    if (victim === 'worker-server') this.#signal(pids.server, 'SIGKILL');
    if (victim !== 'master' && victim !== 'both') return;
    this.kills += 1;
    await this.#master.kill();
  }

  /** Stops it for a moment, amid whatever it does. */
  async pause(victim: Victim, agentId: string): Promise<void> {
    this.story.push(`pause ${victim}`);
    const { program, server } = pidsOf(agentId);
    const { pid: master } = await this.#master.server();
    const pid = { program, 'worker-server': server, master, both: program };
    this.#signal(pid[victim], 'SIGSTOP');
    await this.moment(400);
    this.#signal(pid[victim], 'SIGCONT');
  }

  #signal(pid: number | undefined, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') {
    if (pid === undefined) return;
    try {
      process.kill(pid, name);
      if (name === 'SIGKILL') this.kills += 1;
    } catch {
      // It has ended in the meantime.
    }
  }
}

/** A program of a worker, and that program's server. */
function pidsOf(agentId: string): { program?: number; server?: number } {
  const [server] = serversOf(agentId);
  if (!server) return {};
  // An orphan has another parent.
  const program = commandOf(server.parent).includes('rehearsal');
  return { server: server.pid, ...(program ? { program: server.parent } : {}) };
}

function serversOf(agentId: string) {
  return processTable().filter(
    ({ pid, zombie }) =>
      !zombie && commandOf(pid).includes(`--agent-id\0${agentId}`)
  );
}

/** All programs of a worker that have a server. */
export function programsOf(agentId: string): number[] {
  return serversOf(agentId).map(({ parent }) => parent);
}

/** Whether a worker's server is still there. */
export function hasLiveServer(agentId: string): boolean {
  return pidsOf(agentId).server !== undefined;
}

/** Everything that is wrong once all workers of a workspace are deleted. */
export function aftermath(
  { path, record }: Pick<OrchestratorStage, 'path' | 'record'>,
  acknowledged: Map<string, string[]>
): string[] {
  const state = join(path, '.agents');
  const text = (...names: string[]) =>
    readIfExists(join(state, ...names)) ?? '';
  const ids = existsSync(join(state, 'agents'))
    ? readdirSync(join(state, 'agents'))
    : [];
  // Without it there is no worker yet.
  const made = ids.filter((id) => text('agents', id, 'meta.json') !== '');
  const gone = [...acknowledged.keys()].filter((id) => !made.includes(id));
  const faults = made.flatMap((id) => {
    const { run_id: run } = JSON.parse(text('agents', id, 'meta.json'));
    return faultsOf({
      agentId: id,
      inbox: text('agents', id, 'inbox.jsonl'),
      outbox: text('agents', id, 'outbox.jsonl'),
      broadcast: text('run', run, 'broadcast.jsonl'),
      acknowledged: acknowledged.get(id) ?? []
    }).map((fault) => `${id}: ${fault}`);
  });
  return [
    ...gone.map((id) => `${id} is gone`),
    ...faults,
    ...left(join(state, 'agents')),
    ...left(join(record, 'workers'))
  ];
}

/** Locks, and rights to remove one. The intended holder may be named there. */
function left(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory, { recursive: true }).map(String);
  return names
    .filter((name) => /(^|[/.])lock$|\.servers\/reap\./.test(name))
    .map((name) => `${name} is left`);
}
