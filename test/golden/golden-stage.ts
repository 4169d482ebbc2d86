import {
  existsSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { locate } from '../../src/adapters/child-process/locate.ts';
import {
  type RunningCommand,
  startCommand
} from '../kit/servers/command-line.ts';
import { startServer, testEnvironment } from '../kit/servers/mcp-client.ts';
import { answerOf, createdWorker } from '../kit/servers/orchestrator-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { endedAgents, tellAgents } from './golden-agents.ts';

/** A workspace that looks the same each time it is made. */
export interface GoldenStage {
  workspace: TempWorkspace;
  /** Ids that are different each time, and what is shown instead. */
  ids: Map<string, string>;
  stop: () => Promise<void>;
}

/** Programs that agents and their supervisors need; no agent is among them. */
const tools = [
  ...['sh', 'sleep', 'cat', 'mv', 'rm', 'mkdir', 'ps', 'kill', 'env', 'git'],
  ...['setsid', 'head', 'tail', 'date', 'node', 'true', 'false', 'tr', 'wc']
];

export interface Scene {
  /** Agents that have ended; default: of all kinds. */
  agents?: typeof endedAgents;
  /** One at work besides, for two hours. */
  running?: boolean;
  /** A worker that is ready, and one that is over. */
  workers?: boolean;
}

export async function goldenStage({
  agents = endedAgents,
  running = false,
  workers = false
}: Scene = {}): Promise<GoldenStage> {
  // Paths stand in tables: they have to be of the same length everywhere.
  const workspace = createTempWorkspace('/tmp');
  for (const tool of tools) {
    const path = tool === 'node' ? process.execPath : locate(tool);
    if (path !== undefined) symlinkSync(path, join(workspace.bin, tool));
  }
  const ids = new Map(agents.map(({ agent_id: id }) => [id, id]));
  if (agents.length > 0) tellAgents(workspace, agents);
  const command = running ? await startAgent(workspace, ids) : undefined;
  const dismiss = workers ? await startWorkers(workspace) : undefined;
  return {
    workspace,
    ids,
    stop: async () => {
      await dismiss?.();
      command?.child.kill('SIGINT');
      await command?.exited;
      workspace.remove();
    }
  };
}

/** No program of the machine is found, and nothing asks the terminal. */
export function goldenEnvironment(
  workspace: TempWorkspace,
  env: Record<string, string> = {}
): Record<string, string> {
  return testEnvironment(workspace, { PATH: workspace.bin, ...env });
}

async function startWorkers(
  workspace: TempWorkspace
): Promise<() => Promise<void>> {
  workspace.write(
    'troupe.config.json',
    '{ "engines": { "rehearsal": true }, "orchestrator": { "backend": "process" } }'
  );
  const server = await startServer(workspace, {
    flags: ['--toolsets', 'orchestrator']
  });
  const force = { force: true, confirm: true };
  const made: string[] = [];
  for (const [name, role] of Object.entries(roles)) {
    const { agent_id } = await createdWorker(server, {
      ...{ name, role, engine: 'rehearsal' }
    });
    made.push(agent_id);
  }
  const [first = '', second] = made;
  await answerOf(server, 'agent_delete', { agent_id: first, ...force });
  return async () => {
    await answerOf(server, 'agent_delete', { agent_id: second, ...force });
    await server.close();
  };
}

const roles = {
  tester: 'You run the tests.',
  'the builder of the website':
    'You build what the tasks say, one after the other, and tell at the end of each what you have changed and why.'
};

const longAgo = 2 * 3600 + 4 * 60 + 1;

async function startAgent(
  workspace: TempWorkspace,
  ids: Map<string, string>
): Promise<RunningCommand> {
  const args = ['run', 'rehearsal', 'progress reading src/host.ts\nhang'];
  const command = startCommand(workspace, [...args, '--timeout', '90000'], {
    env: goldenEnvironment(workspace)
  });
  const [, id = ''] = await command.says(
    'stderr',
    /Rehearsal \(script\) (\w{8})/
  );
  await command.says('stderr', /hang/);
  ids.set(id, 'c0000008');
  const folder = join(workspace.record, 'spawns', id);
  const file = join(folder, 'record.json');
  if (!existsSync(file)) throw new Error(`There is no ${file}.`);
  const record: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const created = new Date(Date.now() - longAgo * 1000);
  const created_at = created.toISOString();
  writeFileSync(file, JSON.stringify({ ...Object(record), created_at }));
  for (const name of ['stdout', 'stderr'])
    utimesSync(join(folder, name), created, created);
  return command;
}
