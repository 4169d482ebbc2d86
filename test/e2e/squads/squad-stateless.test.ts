import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let agents: SquadAgents;
let server: McpClient;

beforeAll(async () => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('apps/api/main.txt', '');
  workspace.write('agents/tester.md', '\n\n  You test.\n\nAll of it.  \n\n');
  workspace.write(
    'agents/builder.md',
    '---\nname: Builder\ndescription: Builds.\n---\nYou build.\n'
  );
  server = await startServer(workspace);
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

const footer = `---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded if the environment blocks you.`;

test('members are answered in the order they were asked for', async () => {
  const tasks = ['last [[gate a]]', 'middle [[gate b]]', 'first'];
  const answering = startSquad(server, [
    { roleId: 'tester', task: `${tasks[0]} [[say one]]` },
    { roleId: 'builder', task: `${tasks[1]} [[say two]]`, cwd: 'apps/api' },
    { roleId: 'tester', task: `${tasks[2]} [[say three]]`, cwd: 'apps' }
  ]);
  const endOf = (text: string) =>
    until(text, async () => (await agents.call(text)).ended);
  await endOf('first');
  agents.open('b');
  await endOf('middle');
  agents.open('a');
  const { squadId, members, message } = await answering;

  expect(squadId).toMatch(/^squad-[0-9a-f]{8}$/);
  expect(message).toBeUndefined();
  const expected = [
    ['tester', '.', 'one'],
    ['builder', 'apps/api', 'two'],
    ['tester', 'apps', 'three']
  ];
  expect(members).toEqual(
    expected.map(([roleId, cwd, result], index) => ({
      memberId: `${squadId}-m${index + 1}`,
      roleId,
      cwd,
      status: 'completed',
      source: 'agent',
      rawStdout: expect.stringContaining(`"${result}"`),
      rawStderr: '',
      result,
      agentId: expect.stringMatching(/^[0-9a-f]{8}$/)
    }))
  );
  expect(new Set(members.map(({ agentId }) => agentId)).size).toBe(3);
});

test('the prompt is the role, the task as it is, and how to report', async () => {
  const task =
    '  # Role\n\nprompt-bytes "x" $(y) `z`\\ é 한글 \u{1f3ad}\t\r\n\n ';
  const member = await startMember(server, { roleId: 'tester', task });
  const { stdin, argv } = await agents.call('prompt-bytes');
  expect(stdin).toBe(
    `# Role\n\nYou test.\n\nAll of it.\n\n---\n\n# Task\n\n${task}\n\n${footer}`
  );
  expect(argv.join(' ')).not.toContain('resume');
  expect(member).not.toHaveProperty('chatId');
});

describe('a member works', () => {
  const root = () => workspace.path;

  test.each([
    ['in the root', undefined, root, '.'],
    ['in the root by its name', '.', root, '.'],
    ['in a directory', 'apps/api/', () => `${root()}/apps/api`, 'apps/api'],
    [
      'in one by a detour',
      'apps/../apps/./api',
      () => `${root()}/apps/api`,
      'apps/api'
    ],
    [
      'in one by its whole path',
      () => `${root()}/apps`,
      () => `${root()}/apps`,
      'apps'
    ]
  ])('%s', async (title, asked, place, shown) => {
    const cwd = typeof asked === 'function' ? asked() : asked;
    const task = `works ${title}.`;
    const member = await startMember(server, {
      roleId: 'tester',
      task,
      ...(cwd === undefined ? {} : { cwd })
    });
    expect(member).toMatchObject({ status: 'completed', cwd: shown });
    expect((await agents.call(task)).cwd).toBe(place());
  });
});

describe('the status', () => {
  test('comes from the exit code, and the output is verbatim', async () => {
    const said = `tab\t"é" 한글 ${'\u{1f3ad}'} \\u2028`;
    const { squadId, members } = await startSquad(server, [
      { roleId: 'tester', task: `code-0 [[err  ${said}]] [[say ${said}]]` },
      { roleId: 'tester', task: `code-3 [[err broken ]] [[exit 3]]` }
    ]);
    const [good, bad] = members;
    const [goodCall, badCall] = [
      await agents.call('code-0'),
      await agents.call('code-3')
    ];
    expect(good).toMatchObject({ status: 'completed', result: said });
    expect(good).not.toHaveProperty('error');
    expect(bad).toMatchObject({ status: 'error', rawStderr: 'broken \n' });
    expect(bad?.error).toContain('broken');
    for (const [member, call] of [
      [good, goodCall],
      [bad, badCall]
    ] as const) {
      expect(member?.rawStdout).toBe(call.stdout);
      expect(member?.rawStderr).toBe(call.stderr);
      const agent = await server.call('result', { agent_id: member?.agentId });
      expect(agent.data).toMatchObject({
        squadId,
        memberId: member?.memberId,
        roleId: 'tester',
        result: member?.result
      });
    }
  });

  test('is "completed" with code 0, whatever the answer says of itself', async () => {
    const member = await startMember(server, {
      roleId: 'tester',
      task: 'polite [[say ]] [[exit 0]]'
    });
    expect(member).toMatchObject({ status: 'completed', result: '' });
    expect(member.error_code).toBe('bad_output');
  });

  test('is "error" when it is killed from outside', async () => {
    const answer = startMember(server, {
      roleId: 'tester',
      task: 'shot [[hang]]'
    });
    process.kill((await agents.call('shot')).pid, 'SIGKILL');
    const member = await answer;
    expect(member.status).toBe('error');
    expect(member.error_code).toBe('interrupted');
  });

  test('is "canceled" when it is canceled', async () => {
    const answer = startMember(server, {
      roleId: 'tester',
      task: 'unwanted [[hang]]'
    });
    const { env } = await agents.call('unwanted');
    const agent_id = env.TROUPE_AGENT_ID;
    await server.call('cancel_agent', { agent_id, reason: 'changed my mind' });
    const member = await answer;
    expect(member).toMatchObject({ status: 'canceled', agentId: agent_id });
    expect(member.error).toContain('changed my mind');
  });
});

test('the squad is on disk with its members and what its caller said', async () => {
  const metadata = { 'any key': { deep: [1, null, { x: 'y' }] }, chatId: '-' };
  const { squadId, members } = await startSquad(
    server,
    [{ roleId: 'builder', task: 'for the file' }],
    { metadata }
  );
  const path = join(workspace.record, 'squads', `${squadId}.json`);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    squadId,
    stateMode: 'stateless',
    members: members.map(({ memberId, roleId, cwd, agentId }) => ({
      memberId,
      roleId,
      cwd,
      agentId
    })),
    metadata
  });
});
