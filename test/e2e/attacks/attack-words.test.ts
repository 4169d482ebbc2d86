import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const attacks: Record<string, [sent: string, shown: string]> = {
  'a window title': ['\u001b]0;owned\u0007', '␛]0;owned␇'],
  'a link': ['\u001b]8;;http://evil\u001b\\', '␛]8;;http://evil␛\\'],
  'the clipboard': ['\u001b]52;c;ZXZpbA==\u0007', '␛]52;c;ZXZpbA==␇'],
  'a cleared screen': ['\u001b[2J\u001b[H', '␛[2J␛[H'],
  'a colour': ['\u001b[35m', '␛[35m'],
  'a device report': ['\u001b[6n', '␛[6n'],
  'a terminal reset': ['\u001bc', '␛c'],
  'a device control string': ['\u001bP$q"p\u001b\\', '␛P$q"p␛\\'],
  'a C1 sequence': ['\u009b31m\u009d0;x\u009c', '\\u009b31m\\u009d0;x\\u009c'],
  'an override': ['\u202eexe.txt\u202c', '\\u202eexe.txt\\u202c'],
  'an isolate': [
    '\u2066left\u2069\u061c\u200f',
    '\\u2066left\\u2069\\u061c\\u200f'
  ],
  'a hidden line': ['true\rfalse', 'true␍false'],
  'backspaces and DEL': ['no\b\byes\u007f', 'no␈␈yes␡']
};
const sent = Object.values(attacks).map(([words]) => words);
const shown = Object.values(attacks).map(([, words]) => words);
const answer = sent.join('\n');

let workspace: TempWorkspace;
let server: McpClient | undefined;
let screen: Screen | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.program(
    'speaker',
    `let prompt = require('node:fs').readFileSync(0, 'utf8');
     const words = ${JSON.stringify(answer)};
     process.stderr.write(words);
     if (prompt.includes('fail')) { process.stderr.write('\\n' + words); process.exit(3); }
     process.stdout.write(words);
     if (prompt.includes('stay')) setInterval(() => undefined, 1e6);`
  );
  workspace.write(
    'speaker.mjs',
    `export default { kind: 'cli', name: 'speaker', description: 'Says it.',
       command: 'speaker', args: () => [] };`
  );
  workspace.write(
    'troupe.config.json',
    JSON.stringify({ plugins: ['./speaker.mjs'], onDisconnect: 'stop' })
  );
});

afterEach(async () => {
  screen?.close();
  await server?.close();
  screen = undefined;
  server = undefined;
  workspace.remove();
});

describe('what an agent and its prompt say', () => {
  test('steers nothing in IAC.md, CONTEXT.md and the archive', async () => {
    server = await startServer(workspace);
    const prompt = `${answer}\nstay`;
    const running = await server.call('spawn_speaker', { prompt });
    const ended = await server.call('spawn_speaker', { prompt: answer });
    const failed = await server.call('spawn_speaker', {
      prompt: `${answer}\nfail`
    });
    await server.call('wait_for_agents', {
      agent_ids: [ended, failed].map(({ data }) => String(data.agent_id)),
      timeout: 30
    });

    const view = (name: string) =>
      readIfExists(join(workspace.path, 'logs', name)) ?? '';
    const iac = await until('both ends', () => {
      const text = view('IAC.md');
      return text.includes('**Done**') && text.includes('**Failed**')
        ? text
        : undefined;
    });
    const context = await until('the agent at work', () => {
      const text = view('CONTEXT.md');
      return text.includes(String(running.data.agent_id)) ? text : undefined;
    });
    for (const text of [iac, context]) expectCalm(text);
    for (const words of shown)
      expect(iac.split(words).length).toBeGreaterThan(4);
  });

  test('is an answer byte for byte over MCP and in a pipe', async () => {
    server = await startServer(workspace);
    const id = await endedAgent(server);
    const { data } = await server.call('result', { agent_id: id });
    expect(data.result).toBe(answer);
    const { stdout } = await runCommand(workspace, ['result', id]);
    expect(stdout).toBe(`${answer}\n`);
    const json = await runCommand(workspace, ['result', id, '--json']);
    expectCalm(json.stdout);
    expect(JSON.parse(json.stdout)).toMatchObject({ result: answer });
  });

  test('steers no terminal that shows it', async () => {
    server = await startServer(workspace);
    const id = await endedAgent(server);
    await server.call('spawn_speaker', { prompt: `${answer}\nstay` });
    screen = openScreen(workspace, 120, 60);
    const written = screen.record();
    const commands = [
      `troupe result ${id}`,
      `troupe result ${id} --json`,
      'troupe list',
      'troupe list --json',
      'troupe log',
      'troupe log --json',
      'troupe doctor',
      'troupe config',
      `troupe run speaker 'please fail'`,
      `troupe run speaker 'please'`,
      `troupe cancel ${id}`
    ];
    for (const [index, command] of commands.entries()) {
      screen.run(`${command}; echo over''${index}.`);
      await until(command, () => written().includes(`over${index}.`), 60_000);
    }
    expectNoneOf(written());
    for (const words of shown) expect(written()).toContain(words);
  });

  test('steers no terminal in watch', async () => {
    server = await startServer(workspace);
    await endedAgent(server);
    screen = openScreen(workspace, 120, 60);
    const written = screen.record();
    screen.run('troupe watch');
    await screen.shows('completed');
    screen.press('Enter');
    await screen.shows('exe.txt', /asked: /);
    screen.press('q');
    await screen.hides(/asked: /);
    screen.press('q');
    await until('the shell', () => screen?.isCovered() === false, 60_000);
    screen.run("echo over''all");
    await until('the end', () => written().includes('overall'), 60_000);
    expectNoneOf(written());
    expect(written()).toContain('\\u202eexe.txt\\u202c');
  });
});

test("words of a project's files steer no reader of stderr", async () => {
  const name = `bad\u009b2J\u202e\u001b]0;x\u0007`;
  workspace.write(`agents/${name}.md`, '\0');
  workspace.write(
    'troupe.config.json',
    JSON.stringify({ plugins: [`./${name}.mjs`] })
  );
  const { stderr } = await runCommand(workspace, ['roles']);
  expectCalm(stderr);
  expect(stderr).toContain('\\u009b2J\\u202e␛]0;x␇');
  server = await startServer(workspace);
  await server.call('list_roles');
  await server.close();
  expectCalm(server.stderr);
  expect(server.stderr).toContain('\\u009b2J\\u202e␛]0;x␇');
  server = undefined;
});

async function endedAgent(server: McpClient): Promise<string> {
  const { data } = await server.call('spawn_speaker', { prompt: answer });
  await server.call('wait_for_agents', {
    agent_ids: [data.agent_id],
    timeout: 30
  });
  return String(data.agent_id);
}

/** No control but newline and tab, and nothing that turns text. */
function expectCalm(text: string): void {
  expect(text).not.toMatch(/(?![\n\t])\p{Cc}/u);
  expect(text).not.toMatch(/\p{Bidi_Control}/u);
}

/** Colours and moves of our own are no attack. */
function expectNoneOf(written: string): void {
  for (const [name, [words]] of Object.entries(attacks))
    for (const part of words.split(/(?=[\u001b\u009b\u009d])/))
      if (!ours.has(part) && /[^\u0020-\u007e]/.test(part))
        expect(written.includes(part), `${name}: ${part}`).toBe(false);
}

const ours = new Set(['\u001b[2J', '\u001b[H', '\u001b\\']);
