import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { hostileText, longHostileText } from '../../kit/judges/hostile-text.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startSquad, waitForSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
});

const footer = `---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded if the environment blocks you.`;

/** Each value alone, in quotes of both kinds and in the middle of a word. */
const template = `squaddie first <%= prompt %> "<%= prompt %>" \\
  '<%= task %>' x<%= task %>y "" --cwd <%= cwd %> --role='<%= roleId %>' \\
  <% if (chatId) { %> --resume=<%= chatId %>
  <% } else { %> --new=<%= newChatId %> <% } %>
  "<%= ONE %>" "a<%= TWO %>'<%= THREE %>" \\$<%= ONE %> last
`;

const task = fc.oneof(
  { weight: 9, arbitrary: hostileText },
  { weight: 1, arbitrary: longHostileText(100_000) }
);
// A brief is trimmed at its ends.
const body = hostileText.map((text) => `Brief ${text}\n${text} end.`);
const fileName = hostileText
  .map((text) => `n ${text.replaceAll('/', '_')}`)
  .filter((name) => Buffer.byteLength(name) < 100);
const chatId = fc.stringMatching(/^[\w.:][\w.:-]{0,255}$/);

test('whatever members are given reaches their processes byte for byte', async () => {
  const seed = seededRandom('values in templates').seed;
  const some = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number, step = 0) =>
    fc.sample(arbitrary, { numRuns, seed: seed + step });
  const bodies = some(body, 8);
  // A role's name is one line.
  const ids = some(fileName, 8).map(
    (name, index) => `${name.replace(/[\n\r\u2028\u2029]/g, ' ')} ${index}`
  );
  for (const [index, text] of bodies.entries())
    workspace.write(`agents/${ids[index]}.md`, `---\nname: x\n---\n${text}\n`);
  const directories = some(fileName, 8, 1);
  for (const name of directories)
    mkdirSync(join(workspace.path, name), { recursive: true });
  const [ONE = '', TWO = '', THREE = ''] = some(hostileText, 3, 2);
  workspace.write('run.template', template);
  workspace.write(
    'troupe.config.json',
    '{"squad": {"templateVariables": ["ONE", "TWO", "THREE"]}}'
  );
  const program = squadProgram(workspace);
  server = await startServer(workspace, {
    env: {
      RUN_TEMPLATE_PATH: 'run.template',
      STATE_MODE: 'stateful',
      ...{ ONE, TWO, THREE }
    }
  });

  const tasks = some(task, 40, 3).map((text) => `${text}.`);
  const chats = some(chatId, 40, 4);
  const members = tasks.map((text, index) => ({
    task: text,
    roleId: ids[index % 8] ?? '',
    cwd: directories[(index >> 3) % 8] ?? '',
    chatId: index % 3 === 0 ? null : `${index}${chats[index]}`.slice(0, 256)
  }));
  const answer = await startSquad(server, members, { background: true });
  await waitForSquad(server, answer.squadId);

  const calls = new Map(
    program.calls().map((call) => [call.env.TROUPE_AGENT_ID, call])
  );
  expect(calls.size).toBe(members.length);
  for (const [index, { task, roleId, cwd, chatId }] of members.entries()) {
    const call = calls.get(answer.members[index]?.agentId);
    const prompt =
      chatId === null
        ? `# Role\n\n${bodies[index % 8]}\n\n---\n\n# Initial Task\n\n${task}\n\n${footer}`
        : `# Task\n\n${task}\n\n${footer}`;
    const directory = join(workspace.path, cwd);
    expect(call?.argv).toEqual([
      ...['first', prompt, prompt, task, `x${task}y`, ''],
      ...['--cwd', directory, `--role=${roleId}`],
      chatId === null
        ? expect.stringMatching(/^--new=[0-9a-f-]{36}$/)
        : `--resume=${chatId}`,
      ...[ONE, `a${TWO}'${THREE}`, `$${ONE}`, 'last']
    ]);
    expect(call).toMatchObject({ cwd: directory, stdin: '' });
  }
});
