import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUp } from '../../kit/agents/made-up-agents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { agentId, endOf, spawnOf } from '../../kit/servers/logged-agents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { printOf } from '../../kit/workspaces/tree.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      toolsets: ['spawn', 'runs', 'squad', 'orchestrator'],
      engines: { rehearsal: {} },
      squad: { engine: 'rehearsal' },
      orchestrator: {
        backend: 'process',
        engine: 'rehearsal',
        restart: 'on-crash'
      }
    })
  );
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  workspace.remove();
});

const [done, atWork, squad] = [agentId(1), agentId(2), agentId(3)];

/** A whole record, where earlier versions kept theirs. */
function plantRecord(): void {
  const state = join(workspace.path, '.agents');
  makeUp(state, { agent_id: done, daysAgo: 1, text: 'planted answer' });
  makeUp(state, { agent_id: atWork, daysAgo: null, task: 'planted' });
  const plant = (name: string, ...lines: unknown[]) =>
    workspace.write(
      name,
      lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    );
  const chain = { v: 1, writer: '0badf00d', prev: '0'.repeat(64) };
  const at = '2026-11-21T12:00:00.000Z';
  plant(
    'logs/iac.jsonl',
    { ...chain, n: 0, at, ...spawnOf(1), task: 'planted' },
    { ...chain, n: 1, at, ...endOf(1) }
  );
  plant('logs/archive/iac-000001.jsonl', { ...chain, n: 0, at, ...spawnOf(4) });
  plant('.agents/heads/0badf00d', { n: 9, hash: 'f'.repeat(64) });
  plant('.agents/counts/spawn-times', Date.now());
  plant(`.agents/squads/squad-${squad}.json`, {
    ...{ v: 1, squadId: `squad-${squad}`, created_at: at },
    ...{ stateMode: 'stateless', members: [] }
  });
  plant(`.agents/workers/${atWork}/request.json`, { v: 1, role: 'planted' });
  plant(`.agents/summons/${atWork}`, {});
  plant('.agents/trash/aaaaaaaaaaaa/owner', {});
  plant('.agents/drafts/planted.1.0123456789ab.tmp', {});
  plant('.agents/http/token', 'planted');
}

/** Links to the user's own files, by names that earlier versions wrote to. */
function plantLinks(): void {
  const own = join(workspace.home, '.ssh');
  mkdirSync(own, { mode: 0o700 });
  writeFileSync(join(own, 'id_ed25519'), 'not yours\n', { mode: 0o600 });
  for (const name of [
    ...['spawns', 'open', 'heads', 'http', 'sessions', 'squads', 'drafts'],
    ...['summons', 'workers', 'counts', 'trash', 'diffs', 'rotation']
  ])
    link(`.agents/${name}`, own);
  link('logs/iac.jsonl', join(own, 'id_ed25519'));
}

function link(name: string, target: string): void {
  const path = join(workspace.path, name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/** All that was planted, and what it leads to. */
function planted(): string[] {
  const names = ['.agents', 'logs/iac.jsonl', 'logs/archive', '../home/.ssh'];
  return names.flatMap((name) => printOf(join(workspace.path, name)));
}

test.each([
  ['a record', plantRecord],
  ['links for a record', plantLinks]
])(
  '%s that the project brings along is neither read nor written',
  async (_, plant) => {
    plant();
    const before = planted();
    server = await startServer(workspace);
    const listed = JSON.stringify((await server.call('list')).data);
    for (const id of [done, atWork]) expect(listed).not.toContain(id);
    expect(
      (await server.call('agent_list', { scope: 'all' })).data.agents
    ).toEqual([]);
    for (const agent_id of [done, atWork]) {
      const { data } = await server.call('result', { agent_id });
      expect(data.status).toBe('not_found');
      const input = { agent_id, prompt: 'say x' };
      const refused = await server.call('continue_agent', input);
      expect(refused.isError).toBe(true);
    }
    const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
    const agent_ids = [data.agent_id];
    const waited = await server.call('wait_for_agents', { agent_ids });
    expect(waited.data.status).toBe('all_completed');
    const members = [{ roleId: 'debugger', task: 'say x' }];
    const squads = await server.call('start_squad_members', { members });
    expect(squads.isError, squads.text).toBe(false);

    for (const args of [['log', '-n', '20'], ['list'], ['log', '--verify']]) {
      const { code, stdout } = await runCommand(workspace, args);
      expect(code, stdout).toBe(0);
      for (const word of [done, atWork, 'planted', '0badf00d'])
        expect(stdout).not.toContain(word);
    }
    const clean = ['clean', '--keep', '0', '--yes'];
    expect((await runCommand(workspace, clean)).code).toBe(0);
    expect(planted()).toEqual(before);
    expect(server.stderr).toBe('');
  }
);
