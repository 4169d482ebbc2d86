import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { locate } from '../../src/adapters/child-process/locate.ts';
import { processTable } from '../../src/adapters/child-process/process-table.ts';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { type McpClient, startServer } from '../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  workerIs,
  workersSeen
} from '../kit/servers/orchestrator-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import {
  programs,
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../kit/workspaces/tmux-stage.ts';
import { startModelServer } from '../model-server/server.ts';
import {
  furnishHome,
  type RealCli,
  testWith,
  userEnvironment
} from './clis.ts';
import { type WorkerModel, workerModel } from './worker-model.ts';

/** `test`, for when the program is installed, and tmux. */
export function testWorkers(cli: RealCli) {
  return locate('tmux') === undefined ? testTmux : testWith(cli);
}

export interface OfficeOptions {
  backend?: 'tmux' | 'process';
  /** Of the user's terminal. */
  size?: [width: number, height: number];
  /** Of the orchestrator. */
  settings?: Record<string, unknown>;
}

/** A workspace whose workers are a real CLI with a model of ours. */
export interface Office {
  workspace: TempWorkspace;
  terminal: TmuxStage;
  master: McpClient;
  mind: WorkerModel;
  /** Creates a worker, which must get ready. */
  hire: (input?: Record<string, unknown>) => Promise<string>;
  /** The program of a worker, which its supervisor has started. */
  programOf: (agentId: string) => number;
  /** Ends a worker that has done its tasks; nothing may be left of it. */
  dismiss: (agentId: string) => Promise<void>;
  /** The user's files that name servers, by path. */
  theirs: () => Record<string, string>;
}

/**
 * Works in an office, which is closed afterwards. Tests run side by side, and
 * vitest does not know then whose end it is.
 */
export async function inOffice(
  cli: RealCli,
  { backend = 'tmux', size = [100, 30], settings = {} }: OfficeOptions,
  work: (office: Office) => Promise<void>
): Promise<void> {
  const workspace = createTempWorkspace();
  const mind = workerModel();
  const model = await startModelServer({ script: mind.script });
  const terminal = tmuxStage(...size);
  const theirs = furnish(workspace, cli);
  const readyTimeoutSeconds = 120;
  const config = {
    engines: { [cli.name]: { baseUrl: model.url } },
    orchestrator: {
      ...{ backend, engine: cli.name, readyTimeoutSeconds },
      ...settings
    }
  };
  workspace.write('troupe.config.json', JSON.stringify(config));
  const { TMUX = '', TMUX_PANE = '' } = terminal.environment;
  const master = await startServer(workspace, {
    flags: ['--toolsets', 'all'],
    // It has the most patience with one call.
    clientName: 'gemini-cli',
    env: { ...userEnvironment(cli), TMUX, TMUX_PANE }
  });
  try {
    await work({
      ...{ workspace, terminal, master, mind },
      hire: async (input = {}) => {
        const role =
          'You do as told.\n"한국어", `x`, $HOME, #{x}; -- that is all.';
        const created = await createdWorker(master, { role, ...input });
        return created.agent_id;
      },
      programOf: (agentId) => programOf(workspace, agentId),
      dismiss: (agentId) => dismiss(master, terminal, agentId),
      theirs: () => textsOf(theirs)
    });
  } finally {
    await endAll(master).finally(() => terminal.stop());
    await model.close();
    workspace.remove();
  }
}

async function dismiss(
  master: McpClient,
  terminal: TmuxStage,
  agent_id: string
): Promise<void> {
  expect(processesOf(agent_id)).not.toEqual([]);
  await answerOf(master, 'agent_delete', { agent_id });
  await workerIs(master, agent_id, 'stopped', 30_000);
  await until(
    'its pane to be closed',
    () => terminal.panes().length === 1 || undefined
  );
  expect(processesOf(agent_id)).toEqual([]);
}

/** The files of a user of these programs. */
function furnish({ path, home }: TempWorkspace, cli: RealCli): string[] {
  furnishHome(home, [cli]);
  const agents = {
    command: process.execPath,
    args: [join(programs, 'troupe.cjs'), 'mcp']
  };
  const json = (entry: object, more: object = {}) =>
    `${JSON.stringify({ ...more, mcpServers: { agents: entry } })}\n`;
  const login: object = JSON.parse(cli.settings?.text ?? '{}');
  const server = `[mcp_servers.agents]\ncommand = ${JSON.stringify(agents.command)}\nargs = ${JSON.stringify(agents.args)}\n`;
  // Codex lays our server over theirs of that name, and these would stay.
  const limits = 'enabled_tools = ["list"]\ndisabled_tools = ["emit_event"]\n';
  // Codex notes it there at its first start in a terminal.
  const codexs = '[tui]\nscreen_reader_detection_done = true\n';
  const files = [
    [join(path, '.mcp.json'), json(agents)],
    [join(path, '.codex', 'config.toml'), server],
    [join(path, '.gemini', 'settings.json'), json(agents)],
    [join(home, '.codex', 'config.toml'), `${server}${limits}${codexs}`],
    [join(home, '.gemini', 'settings.json'), json(agents, login)],
    [
      join(home, '.copilot', 'mcp-config.json'),
      json({ ...agents, type: 'local', tools: ['*'] })
    ]
  ] as const;
  for (const [file, text] of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const claudes = join(home, '.claude.json');
  writeFileSync(claudes, '{"hasCompletedOnboarding": true}');
  return files.map(([file]) => file);
}

function textsOf(files: string[]): Record<string, string> {
  return Object.fromEntries(
    files.map((file) => [file, readFileSync(file, 'utf8')])
  );
}

/** Its supervisor has noted itself and its own watchdog. */
function programOf({ record }: TempWorkspace, agentId: string): number {
  const folder = join(record, 'workers', agentId, 'start-1');
  const claim = readFileSync(join(folder, 'claim'), 'utf8');
  const [first = '', second = ''] = claim.split('\n');
  const supervisor = Number.parseInt(first, 10);
  const guards = second.split(' ').map(Number);
  const program = processTable().find(
    ({ pid, parent }) => parent === supervisor && !guards.includes(pid)
  );
  if (!program) throw new Error(`No program of ${agentId} runs.`);
  return program.pid;
}

/** What a test that failed has left is ended by force. */
async function endAll(master: McpClient): Promise<void> {
  for (const { agent_id } of await workersSeen(master, 'all')) {
    const input = { agent_id, force: true, confirm: true };
    await master.call('agent_delete', input);
  }
  await master.close();
  expect(master.impurities).toEqual([]);
}
