import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { refusal } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let agents: SquadAgents;
let stateless: McpClient;
let stateful: McpClient;

const good = { roleId: 'tester', task: 'Fine.' };

beforeAll(async () => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  workspace.write('agents/README.md', 'No role.');
  workspace.write('agents/broken.md', '---\nname: [\n---\nx');
  workspace.write('agents/elsewhere.md', '---\nengine: nowhere\n---\nx');
  workspace.write('file.txt', '');
  const outside = join(workspace.home, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, join(workspace.path, 'out'));
  stateless = await startServer(workspace);
  stateful = await startServer(workspace, { env: { STATE_MODE: 'stateful' } });
});

/** Nothing ran, and nothing is left that says that something would. */
afterAll(async () => {
  for (const server of [stateless, stateful]) {
    expect(server.impurities).toEqual([]);
    await server.close();
  }
  expect(agents.calls()).toEqual([]);
  for (const name of ['squads', 'sessions', 'spawns', 'open', 'drafts'])
    expect(entriesOf(join(workspace.record, name)), name).toEqual([]);
  expect(existsSync(join(workspace.record, 'iac.jsonl'))).toBe(false);
  workspace.remove();
});

function entriesOf(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

describe('a squad is refused, with the member at fault and what to do,', () => {
  const member = 'members.1 ("tester")';

  test.each<[string, object, string, RegExp, RegExp]>([
    [
      'for an unknown role',
      { roleId: 'no-such-role' },
      'unknown_role',
      /members\.1 \("no-such-role"\): There is no role "no-such-role"/,
      /list_roles/
    ],
    [
      'for the file that explains the roles',
      { roleId: 'README' },
      'unknown_role',
      /no role "README"/,
      /list_roles/
    ],
    [
      'for a way to a file as role',
      { roleId: '../agents/tester' },
      'unknown_role',
      /no role/,
      /list_roles/
    ],
    [
      'for a role whose file is broken',
      { roleId: 'broken' },
      'unknown_role',
      /members\.1 \("broken"\): The role .*broken\.md cannot be used/,
      /correct that file/
    ],
    [
      'for a role with an engine that is not there',
      { roleId: 'elsewhere' },
      'unknown_engine',
      /members\.1 \("elsewhere"\): .*"nowhere"/,
      /Offered: claude/
    ],
    [
      'for a cwd outside',
      { cwd: '../home' },
      'cwd_outside',
      /The cwd "\.\.\/home" lies outside/,
      /inside the workspace/
    ],
    [
      'for an absolute cwd outside',
      { cwd: '/' },
      'cwd_outside',
      /The cwd "\/" lies outside/,
      /inside the workspace/
    ],
    [
      'for a cwd that a link leads out',
      { cwd: 'out' },
      'cwd_outside',
      /The cwd "out" lies outside/,
      /links out of it do not count/
    ],
    [
      'for a cwd that is not there',
      { cwd: 'no/such' },
      'cwd_missing',
      /no directory "no\/such"/,
      /Create it/
    ],
    [
      'for a cwd that is a file',
      { cwd: 'file.txt' },
      'cwd_missing',
      /Not a directory: "file\.txt"/,
      /leave cwd out/
    ],
    [
      'for a cwd with a NUL',
      { cwd: 'a\0b' },
      'invalid_input',
      /cwd holds a NUL/,
      /Remove it/
    ],
    [
      'for a blank task',
      { task: ' \n\t ' },
      'invalid_input',
      /The task is empty/,
      /Say in "task"/
    ],
    [
      'for a task with a NUL',
      { task: 'a\0b' },
      'invalid_input',
      /The task holds a NUL/,
      /Remove it/
    ]
  ])('%s', async (_, fault, code, error, hint) => {
    const bad = { ...good, ...fault };
    for (const server of [stateless, stateful]) {
      const said = await refusal(server, [good, bad, good]);
      expect(said.error_code).toBe(code);
      expect(said.error).toMatch(/^Nothing was started\./);
      expect(said.error).toMatch(error);
      if (bad.roleId === 'tester') expect(said.error).toContain(member);
      expect(said.hint).toMatch(hint);
    }
  });

  test.each([
    ['a flag', '-rf'],
    ['more than a word', 'a b'],
    ['a path', '../../etc'],
    ['a line', 'a\n'],
    ['other letters', 'é'],
    ['a blank', ' ']
  ])('for a chatId that is %s', async (_, chatId) => {
    const said = await refusal(stateful, [good, { ...good, chatId }]);
    expect(said.error_code).toBe('invalid_input');
    expect(said.error).toContain(
      `${member}: ${JSON.stringify(chatId)} is not a chatId`
    );
    expect(said.hint).toContain('leave it out for a new chat');
  });

  test('for all members at fault at once, each by name', async () => {
    const said = await refusal(stateless, [
      { ...good, roleId: 'who' },
      good,
      { ...good, cwd: 'nowhere' },
      { ...good, task: ' ' }
    ]);
    expect(said.error_code).toBe('unknown_role');
    for (const name of ['members.0 ("who")', 'members.2 (', 'members.3 ('])
      expect(said.error).toContain(name);
    expect(said.error).not.toContain('members.1 (');
    for (const hint of ['list_roles', 'Create it first', 'Say in "task"'])
      expect(said.hint).toContain(hint);
  });

  test('for more of them than can be listed, by position', async () => {
    const far = { ...good, cwd: `../${'x'.repeat(4000)}` };
    const said = await refusal(
      stateless,
      Array.from({ length: 500 }, (_, index) => (index === 7 ? good : far))
    );
    expect(said.error).toContain('Also wrong: members.5, members.6, members.8');
    expect(said.error).toContain(', members.499.');
    expect(said.error.length).toBeLessThan(9000);
  });
});

describe('input of another form is refused by name:', () => {
  test.each<[string, unknown, Record<string, unknown>, RegExp]>([
    ['no member', [], {}, /"members".*1/],
    ['too many', Array.from({ length: 501 }, () => good), {}, /"members".*500/],
    ['no list', good, {}, /"members"/],
    ['no task', [{ roleId: 'tester' }], {}, /"members\.0\.task"/],
    ['an empty task', [{ ...good, task: '' }], {}, /"members\.0\.task"/],
    [
      'an unknown key of a member',
      [good, { ...good, engine: 'codex' }],
      {},
      /unknown parameter "engine" in members\.1/
    ],
    ['an unknown key', [good], { engine: 'x' }, /unknown parameter "engine"/],
    ['no object as metadata', [good], { metadata: [1] }, /"metadata"/]
  ])('%s', async (_, members, more, error) => {
    const said = await refusal(stateless, members, more);
    expect(said.error_code).toBe('invalid_input');
    expect(said.error).toMatch(error);
    expect(said.hint).toContain('members');
  });

  test('a chatId, where there are no chats', async () => {
    const said = await refusal(stateless, [{ ...good, chatId: 'abc' }]);
    expect(said.error).toContain('unknown parameter "chatId" in members.0');
  });

  test('a chatId that is too long', async () => {
    const said = await refusal(stateful, [
      { ...good, chatId: 'x'.repeat(257) }
    ]);
    expect(said.error).toMatch(/"members\.0\.chatId".*256/);
  });
});

test('the schema shows chats only where there are chats', async () => {
  const [without, withChats] = await Promise.all(
    [stateless, stateful].map(async (server) =>
      JSON.stringify((await server.request('tools/list')).tools)
    )
  );
  expect(without).not.toContain('chatId');
  expect(withChats).toMatch(/"chatId":\{[^{]*"type":\["string","null"\]/);
});
