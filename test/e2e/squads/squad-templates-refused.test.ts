import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { refusal, startMember } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let program: ReturnType<typeof squadProgram>;

const run = 'run.template';
const create = 'create-chat.template';

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
  workspace.write(run, 'squaddie');
  workspace.write(create, 'squaddie "[[say c-1]]"');
  program = squadProgram(workspace);
  server = await startServer(workspace, {
    env: {
      RUN_TEMPLATE_PATH: run,
      CREATE_CHAT_TEMPLATE_PATH: create,
      STATE_MODE: 'stateful'
    }
  });
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

const members = ['One.', 'Two.'].map((task) => ({ roleId: 'tester', task }));

/** Nothing has run, and nothing of the call is left. */
function expectNothing() {
  for (const kind of ['spawns', 'squads'])
    expect(existsSync(join(workspace.record, kind))).toBe(false);
  expect(program.calls()).toEqual([]);
}

const faults: [text: string, reason: string][] = [
  ['squaddie | tee log', '"|" outside quotes'],
  ['cd inner && squaddie', '"&&" outside quotes'],
  ['squaddie; squaddie', '";" outside quotes'],
  ['squaddie > out.txt', '">" outside quotes'],
  ['squaddie < in.txt', '"<" outside quotes'],
  ['squaddie $(id)', '"$(" outside quotes'],
  ['squaddie `id`', '"`" outside quotes'],
  ['squaddie <%~ cwd %>', '<%~'],
  ['squaddie <%- cwd %>', '<%-'],
  ['squaddie "<%= cwd %>', 'an open quote'],
  ['squaddie <% if (cwd { %> x <% } %>', 'it has an error'],
  ['squaddie <%= nothing %>', 'nothing is not defined'],
  ['<% if (false) { %> squaddie <% } %>', 'no program'],
  ['', 'no program'],
  ['squaddie <%= "x".repeat(131072) %>', 'more than 131071 bytes']
];

test.each([run, create].flatMap((file) => faults.map((one) => [file, ...one])))(
  '%s: %j is an error that names the file, and nothing runs',
  async (file = '', text = '', reason = '') => {
    const good = 'squaddie "[[say c-1]]"';
    workspace.write(run, file === run ? text : good);
    workspace.write(create, file === create ? text : good);
    const { error_code, error, hint } = await refusal(server, members);
    expect(error_code).toBe('template_invalid');
    expect(error).toContain(join(workspace.path, file));
    expect(error).toContain(reason);
    expect(hint).toContain('docs/guides/templates.md');
    expectNothing();
  }
);

test('one member that a template does not fit keeps all from starting', async () => {
  workspace.write(run, 'squaddie <%= task %>');
  workspace.write(create, 'squaddie "[[say c-1]]"');
  const long = { roleId: 'tester', task: 'x'.repeat(131_072) };
  const { error_code, error } = await refusal(server, [...members, long]);
  expect(error_code).toBe('template_invalid');
  expect(error).toContain('members.2 ("tester")');
  expect(error).toContain(join(workspace.path, run));
  expect(error).not.toContain('members.0');
  expectNothing();
});

test('a corrected template works in the next call', async () => {
  workspace.write(run, 'squaddie <%= task %>');
  workspace.write(create, 'squaddie "[[say c-1]]"');
  const task = 'x'.repeat(131_071);
  const member = await startMember(server, { roleId: 'tester', task });
  expect(member).toMatchObject({ status: 'completed', chatId: 'c-1' });
  expect(program.calls().at(-1)?.argv).toEqual([task]);
});
