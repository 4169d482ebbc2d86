import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  processEnvironments,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { puppetCalled, writePuppet } from '../agents/puppet-engine.ts';
import { until } from '../judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../workspaces/temp-workspace.ts';
import { type TmuxStage, tmuxStage } from '../workspaces/tmux-stage.ts';
import {
  McpClient,
  type ServerOptions,
  startServer,
  testEnvironment
} from './mcp-client.ts';
import { createdWorker } from './orchestrator-calls.ts';

export type Backend = 'process' | 'tmux';

export interface StageOptions {
  /** Of the user's terminal, where there is one. */
  size?: [width: number, height: number];
  /** The configuration's `orchestrator`. */
  settings?: Record<string, unknown>;
  /** More of the configuration. */
  config?: Record<string, unknown>;
  /** Where its directories are made. */
  parent?: string | undefined;
}

/** A workspace with an orchestrator, and engines that need no account. */
export interface OrchestratorStage extends TempWorkspace {
  backend: Backend;
  /** The user's terminal. @throws on the process backend */
  screen: () => TmuxStage;
  /** A master, started in the user's first pane. */
  serve: (options?: ServerOptions) => Promise<McpClient>;
  /** The server of a worker, as the worker's program starts it. */
  serveWorker: (agentId: string, options?: ServerOptions) => Promise<McpClient>;
  /** A worker without a mind: the test speaks for it. */
  puppet: (
    master: McpClient,
    args?: Record<string, unknown>
  ) => Promise<{ id: string; desk: McpClient }>;
  kill: (server: McpClient) => Promise<void>;
  /** A file of a worker, of `.agents/agents/<id>`. */
  file: (agentId: string, name: string) => string;
  /** The lines of its inbox or outbox, or of another JSONL file. */
  lines: (path: string) => z.output<typeof lineSchema>[];
  /** Processes of a worker that live, its supervisor among them. */
  processes: (agentId: string) => number[];
  /** What its programs were started with, where we may read it. */
  environments: (agentId: string) => string[][];
  /** Ends everything; fails when a server has spoilt its stdout. */
  close: () => Promise<void>;
}

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

export function createOrchestratorStage(
  backend: Backend,
  { size, settings = {}, config = {}, parent }: StageOptions = {}
): OrchestratorStage {
  const workspace = createTempWorkspace(parent);
  const terminal = backend === 'tmux' ? tmuxStage(...(size ?? [])) : undefined;
  const servers: McpClient[] = [];
  let puppets = 0;
  writePuppet(workspace);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      toolsets: ['orchestrator'],
      engines: { rehearsal: {} },
      plugins: ['./puppet.mjs'],
      ...config,
      orchestrator: { backend, engine: 'rehearsal', ...settings }
    })
  );
  const { TMUX = '', TMUX_PANE = '' } = terminal?.environment ?? {};
  const own = terminal ? { TMUX, TMUX_PANE } : {};
  const serve = async (options: ServerOptions = {}) => {
    const env = { ...own, ...options.env };
    const server = await startServer(workspace, { ...options, env });
    servers.push(server);
    return server;
  };
  const serveWorker = (agentId: string, options: ServerOptions = {}) =>
    serve({
      ...options,
      flags: ['--toolsets', 'worker', '--agent-id', agentId]
    });
  const file = (agentId: string, name: string) =>
    join(workspace.path, '.agents', 'agents', agentId, name);
  return {
    ...workspace,
    backend,
    screen: () => {
      if (terminal) return terminal;
      throw new Error('There is no terminal in this test.');
    },
    serve,
    serveWorker,
    puppet: async (master, args = {}) => {
      puppets += 1;
      const name = `puppet ${puppets}`;
      const making = createdWorker(master, { name, engine: 'puppet', ...args });
      const id = await until('the program of the puppet', () =>
        puppetCalled(name, workspace)
      );
      const desk = await serveWorker(id);
      await desk.call('emit_event', { type: 'ready' });
      await making;
      return { id, desk };
    },
    kill: async (server) => {
      server.child.kill('SIGKILL');
      await server.exited;
    },
    file,
    lines: (path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => lineSchema.parse(JSON.parse(line))),
    processes: (agentId) => [...startedBelow(workspace, agentId).keys()],
    environments: (agentId) => [...startedBelow(workspace, agentId).values()],
    close: async () => {
      await endWorkers(servers);
      await Promise.all(servers.map((server) => server.close()));
      terminal?.stop();
      const left = await leftOf(workspace);
      workspace.remove();
      const impurities = servers.flatMap((server) => server.impurities);
      expect({ impurities, left }).toEqual({ impurities: [], left: [] });
    }
  };
}

/** The backends, of which one needs a terminal. */
export const backends: Backend[] = ['process', 'tmux'];

/** A server that says no hello, and may refuse to be one. */
export function spawnServer(
  workspace: TempWorkspace,
  flags: string[]
): McpClient {
  const args = [troupe, 'mcp', '--workspace', workspace.path, ...flags];
  return new McpClient(
    spawn(process.execPath, args, {
      cwd: workspace.path,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: testEnvironment(workspace)
    })
  );
}

const lineSchema = z.object({
  seq: z.number(),
  at: z.string(),
  type: z.string(),
  agent_id: z.string().optional(),
  task_id: z.string().optional(),
  payload: z.unknown().optional(),
  payload_file: z.string().optional(),
  done: z.boolean().optional(),
  by: z.string().optional()
});

/** What is left is ended by force, by any master that still answers. */
async function endWorkers(servers: McpClient[]): Promise<void> {
  for (const server of servers) {
    if (server.child.exitCode !== null || server.child.signalCode) continue;
    const { data, isError } = await server.call('agent_list', { scope: 'all' });
    if (isError || !Array.isArray(data.agents)) continue;
    const living = data.agents.filter(
      ({ status }) => status !== 'stopped' && status !== 'crashed'
    );
    await Promise.all(
      living.map(({ agent_id }) =>
        server.call('agent_delete', { agent_id, force: true, confirm: true })
      )
    );
    return;
  }
}

/** What has not ended by itself; then it is made to, whatever failed. */
async function leftOf(workspace: TempWorkspace): Promise<number[]> {
  const living = () => [...startedBelow(workspace, '').keys()];
  const ended = until(
    'the end of all workers',
    () => living().length === 0 || undefined,
    20_000
  );
  if (await ended.catch(() => false)) return [];
  const left = living();
  for (const pid of left)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  return left;
}

/** Environments of what lives of a worker, or of all. */
function startedBelow({ record }: TempWorkspace, agentId: string) {
  const start = `TROUPE_AGENT_DIR=${join(record, 'workers', agentId)}`;
  const pids = processTable()
    .filter(({ zombie }) => !zombie)
    .map(({ pid }) => pid);
  const found = new Map<number, string[]>();
  for (const [pid, text] of processEnvironments(pids)) {
    const lines = text.split('\0');
    if (lines.some((line) => line.startsWith(start))) found.set(pid, lines);
  }
  return found;
}
