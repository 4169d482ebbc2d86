import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  type MemberAnswer,
  type SquadAnswer,
  squadIn,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/**
 * Cheap: `[[say TEXT]]`, or `[[lines N]]` numbered lines with what is theirs;
 * with "waits" not before the file `go` is there.
 */
const program = `#!/bin/sh
task=$(grep '\\[\\[')
case $task in *waits*)
  while [ ! -e go ]; do sleep 0.1; done ;;
esac
case $task in
*lines*)
  count=\${task##*lines }
  name=\${task%% *}
  seq "\${count%%]]*}" | sed "s/^/$name 한 \\"quoted\\" line /"
  echo "$name complains" >&2
  ;;
*)
  said=\${task##*say }
  echo "\${said%%]]*}"
  ;;
esac
`;

let workspace: TempWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'You test.');
  const script = workspace.write('cheap.sh', program);
  workspace.write(
    'cheap.mjs',
    `export default { kind: 'cli', name: 'cheap', description: 'x',
      command: '/bin/sh', args: () => [${JSON.stringify(script)}] };`
  );
  const settings = { plugins: ['./cheap.mjs'], maxSpawnsPerMinute: 0 };
  workspace.write('.trouperc.json', JSON.stringify(settings));
  server = await start('troupe-test');
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

function start(clientName: string): Promise<McpClient> {
  return startServer(workspace, { clientName, env: { ENGINE: 'cheap' } });
}

function squadOf(size: number, asks: (number: number) => string) {
  return Array.from({ length: size }, (_, index) => ({
    roleId: 'tester',
    task: asks(index + 1)
  }));
}

/** All that a text may be in an answer: whole, or its ends and where it lies. */
function textsOf({ rawStdout, rawStderr, result, error }: MemberAnswer) {
  return [rawStdout, rawStderr, result, error ?? ''];
}

function charsIn({ members }: SquadAnswer): number {
  return members.flatMap(textsOf).join('').length;
}

test('200 members are queued, not refused, and all end', async () => {
  const say = (number: number) => `waits [[say answer ${number}]]`;
  const answer = await server.call('start_squad_members', {
    members: squadOf(200, say),
    background: true
  });
  const { squadId, members } = squadIn(answer);
  expect(members).toHaveLength(200);
  expect(new Set(members.map(({ agentId }) => agentId)).size).toBe(200);
  const running = members.filter(({ status }) => status === 'running');
  const queued = members.filter(({ status }) => status === 'queued');
  expect([running.length, queued.length]).toEqual([8, 192]);
  workspace.write('go', '');

  const results = await waitForSquad(server, squadId);
  expect(results.map(({ agent_id }) => agent_id)).toEqual(
    members.map(({ agentId }) => agentId)
  );
  expect(new Set(results.map(({ status }) => status))).toEqual(
    new Set(['completed'])
  );
  for (const number of [1, 77, 200]) {
    const agent_id = members[number - 1]?.agentId;
    const { data } = await server.call('result', { agent_id });
    expect(data).toMatchObject({
      result: `answer ${number}`,
      memberId: `${squadId}-m${number}`
    });
  }
});

describe.each([
  ['troupe-test', Number.POSITIVE_INFINITY, 200],
  ['claude-code', 48_000, 60],
  ['codex-mcp-client', 11_500, 200],
  ['github-copilot-developer', 19_500, 60]
])('an answer to %s', (clientName, bytes, many) => {
  let client: McpClient;

  beforeAll(async () => {
    client = await start(clientName);
  });

  afterAll(async () => {
    await client.close();
  });

  async function answered(size: number, asks: (number: number) => string) {
    const answer = await client.call('start_squad_members', {
      members: squadOf(size, asks)
    });
    expect(answer.isError, answer.text).toBe(false);
    expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(bytes);
    const squad = squadIn(answer);
    for (const { status } of squad.members) expect(status).toBe('completed');
    return squad;
  }

  test('has short texts whole, and shares the rest among the long', async () => {
    const asks = (number: number) =>
      number % 2 === 1 ? '[[say short]]' : `m${number} [[lines 400]]`;
    const squad = await answered(6, asks);
    expect(charsIn(squad)).toBeLessThanOrEqual(20_000);
    expect(squad.message).toContain('next_offset');
    for (const [index, member] of squad.members.entries()) {
      if (index % 2 === 1) await expectAll(member);
      else expect(member).toMatchObject({ result: 'short' });
    }
  });

  test('of many members says where to find every character', async () => {
    const squad = await answered(many, (number) => `m${number} [[lines 30]]`);
    expect(charsIn(squad)).toBeLessThanOrEqual(20_000);
    const [first] = squad.members;
    // The answer says where to find what it leaves out.
    expect(first).not.toHaveProperty('rawStdout');
    const { squadId, members_total: total = squad.members.length } = squad;
    const file = `squads/${squadId}.json`;
    const left = first?.result === undefined ? file : '<agentId>/stdout';
    expect(squad.message).toContain(left);
    const kept = readFileSync(join(workspace.record, file), 'utf8');
    expect(JSON.parse(kept).members).toHaveLength(many);
    expect(total).toBe(many);
    for (const member of squad.members.slice(0, 3)) await expectAll(member);
    const all = await waitForSquad(client, squad.squadId);
    expect(all.length).toBeGreaterThan(0);
  });

  /** What the answer has no room for is read on by what it says of it. */
  async function expectAll(member: MemberAnswer) {
    const directory = join(workspace.record, 'spawns', member.agentId);
    const stdout = readFileSync(join(directory, 'stdout'), 'utf8');
    const path = member.rawStdout_path;
    if (member.rawStdout !== undefined && path === undefined)
      expect(member.rawStdout).toBe(stdout);
    else if (path !== undefined) {
      expect(path).toBe(join(directory, 'stdout'));
      expect(member.rawStdout_bytes).toBe(Buffer.byteLength(stdout));
      expect(member.truncated).toBe(true);
      expect(member.rawStdout.length).toBeLessThan(stdout.length);
      expect(stdout.startsWith(member.rawStdout.slice(0, 30))).toBe(true);
    }
    expect(existsSync(join(directory, 'stderr'))).toBe(true);
    expect(await readOn(member)).toBe(stdout.trim());
  }

  async function readOn({ agentId, result, next_offset }: MemberAnswer) {
    if (result !== undefined && next_offset === undefined) return result;
    let offset = result === undefined ? 0 : Number(next_offset);
    let text = result === undefined ? '' : result.slice(0, offset);
    for (;;) {
      const { data } = await client.call('result', {
        agent_id: agentId,
        offset
      });
      text += String(data.result);
      if (data.next_offset === undefined) return text;
      offset = Number(data.next_offset);
    }
  }
});

test('all of an answer that waits has the rest behind wait_for_agents', async () => {
  const squad = await startSquad(
    server,
    squadOf(30, (number) => `m${number} [[lines 200]]`),
    { background: true }
  );
  const results = await waitForSquad(server, squad.squadId);
  expect(results).toHaveLength(30);
  for (const row of results) expect(row.truncated).toBe(true);
});

test('a squad that is being started is waited for as a whole', async () => {
  const other = await start('troupe-test');
  const directory = join(workspace.record, 'squads');
  const before = new Set(readdirSync(directory));
  server.send({
    jsonrpc: '2.0',
    id: 'impatient',
    method: 'tools/call',
    params: {
      name: 'start_squad_members',
      arguments: { members: squadOf(120, (number) => `[[say ${number}]]`) }
    }
  });
  const name = await until('the squad', () =>
    readdirSync(directory).find(
      (file) => file.endsWith('.json') && !before.has(file)
    )
  );
  server.send({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 'impatient' }
  });
  const results = await waitForSquad(other, name.replace('.json', ''));
  expect(results.map(({ result }) => result)).toEqual(
    Array.from({ length: 120 }, (_, index) => `${index + 1}`)
  );
  await other.close();
});
