import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  refusal,
  squadIn,
  startMember,
  startSquad
} from '../../kit/servers/squad-call.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let agents: SquadAgents;
let servers: McpClient[];

beforeEach(() => {
  workspace = createGitWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  workspace.write('agents/reader.md', '---\naccess: read\n---\nYou read.');
  workspace.write('apps/api/main.txt', 'x\n');
  workspace.commit('roles');
  servers = [];
});

afterEach(async () => {
  for (const server of servers) {
    await server.close();
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
  }
  workspace.remove();
});

async function start(env: Record<string, string> = {}): Promise<McpClient> {
  const server = await startServer(workspace, { env });
  servers.push(server);
  return server;
}

/** A server as an agent would start it. */
async function startWithin(task: string, server: McpClient) {
  await startMember(server, { roleId: 'tester', task });
  const { env } = await agents.call(task);
  const { TROUPE_AGENT_ID = '', TROUPE_DEPTH = '' } = env;
  return start({ TROUPE_AGENT_ID, TROUPE_DEPTH, STATE_MODE: 'stateful' });
}

function textOf(name: string): string {
  return readFileSync(join(workspace.path, name), 'utf8');
}

function everythingIn(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  // Servers come and go.
  return names.filter((name) => !name.startsWith('servers/')).sort();
}

test('a member may start squads as deep as maxDepth, and no deeper', async () => {
  const below = await startWithin('Depth one.', await start());
  const deepest = await startWithin('Depth two.', below);
  const state = workspace.record;
  const before = everythingIn(state);

  for (const member of [
    { roleId: 'tester', task: 'Depth three.' },
    { roleId: 'tester', task: 'Depth three.', chatId: 'a-chat' }
  ]) {
    const said = await refusal(deepest, [member]);
    expect(said.error_code).toBe('depth_limit');
    expect(said.error).toContain('at depth 2; the limit is 2');
    expect(said.hint).toContain('maxDepth');
  }
  expect(everythingIn(state)).toEqual(before);
  expect(agents.calls()).toHaveLength(2);
});

test('members that may write in one directory are pointed out when work is uncommitted', async () => {
  const server = await start();
  const tester = (cwd?: string) => ({
    roleId: 'tester',
    task: 'Write.',
    ...(cwd ? { cwd } : {})
  });
  const reader = { roleId: 'reader', task: 'Read.' };
  const warningFor = async (members: object[]) => {
    const input = { members, background: true };
    const answer = await server.call('start_squad_members', input);
    const { message, squadId, members: told } = squadIn(answer);
    await server.call('wait_for_agents', { squadId });
    return { message, told };
  };

  workspace.write('.gitignore', '.agents\nlogs\n');
  workspace.commit('all is committed');
  // On a busy machine, git may take longer than a spawn waits for it.
  await until('a start without a warning', async () => {
    const quiet = await warningFor([tester(), tester()]);
    return !String(quiet.message).includes('uncommitted');
  });

  workspace.write('draft.txt', 'not committed\n');
  const warned = await warningFor([tester(), tester('apps/api'), tester()]);
  const [first] = warned.told;
  expect(warned.message).toContain(`Agent ${first?.agentId} (Claude) may be`);
  expect(warned.message).toContain('uncommitted work');
  // What a squad can do about it; members have no worktrees.
  expect(warned.message).toContain('separate files');
  expect(warned.message).not.toContain('isolate');

  workspace.write('agents/cursor.md', '---\nengine: cursor-agent\n---\nx');
  const cursor = { roleId: 'cursor', task: 'Write.' };
  const inTurn = await warningFor([cursor, cursor, cursor]);
  expect(inTurn.message).not.toContain('uncommitted');

  const harmless = await warningFor([reader, reader, tester()]);
  expect(harmless.message).not.toContain('uncommitted');
});

test('the journal knows the squad of each member, and so does IAC.md', async () => {
  const server = await start();
  const { squadId, members } = await startSquad(server, [
    { roleId: 'tester', task: 'Write it down.' },
    { roleId: 'reader', task: 'Read it.' }
  ]);
  const records = readFileSync(workspace.paths.journal, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'spawned');
  expect(records.map(({ squad }) => squad)).toEqual(
    members.map(({ memberId, roleId }) => ({ squadId, memberId, roleId }))
  );
  expect(records[0].task).toBe('tester: Write it down.');
  await server.close();
  const view = textOf('logs/IAC.md');
  expect(view.match(new RegExp(squadId, 'g'))?.length).toBeGreaterThan(1);
});

test.each(['squad-00000000', 'squad-x', '../squads/x', 'deadbeef'])(
  'waiting for an unknown squad, "%s", is an error',
  async (squadId) => {
    const server = await start();
    const answer = await server.call('wait_for_agents', { squadId });
    expect(answer.isError).toBe(true);
    expect(answer.data.error_code).toBe('unknown_squad');
    expect(answer.data.error).toContain(squadId);
    expect(answer.data.hint).toMatch(/\blist\b/);
  }
);
