import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

/** What the user's shell has, with a gateway for Claude Code. */
const env = {
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  ANTHROPIC_API_KEY: 'sesame-1',
  GEMINI_API_KEY: 'sesame-2',
  XAI_API_KEY: 'sesame-3',
  CURSOR_API_KEY: 'sesame-4',
  MY_TOKEN: 'sesame-5'
};

beforeEach(() => {
  workspace = createTempWorkspace();
  for (const program of ['claude', 'gemini'])
    workspace.program(program, 'console.log("9.9.9")');
});

afterEach(() => workspace.remove());

const init = (...args: string[]) =>
  runCommand(workspace, ['init', ...args], { env });
const textOf = (path: string) =>
  readFileSync(join(workspace.path, path), 'utf8');

test('what ready engines need is handed on by name, and the client has it', async () => {
  const args = ['codex', 'gemini-cli', '--yes', '--engine', 'rehearsal'];
  const { code, stdout, stderr } = await init(...args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const codex = textOf('.codex/config.toml');
  const names = ['ANTHROPIC_BASE_URL', 'GEMINI_API_KEY', 'XAI_API_KEY'];
  for (const name of names) expect(codex).toMatch(`"${name}"`);
  const { env: handed } = JSON.parse(textOf('.gemini/settings.json')).mcpServers
    .agents;
  for (const name of names)
    expect(handed).toMatchObject({ [name]: `$${name}` });
  // Its program is not installed, and the last is of no engine.
  for (const text of [codex, JSON.stringify(handed)])
    expect(text).not.toMatch(/CURSOR_API_KEY|MY_TOKEN/);
  expect(`${codex}${stdout}${stderr}`).not.toContain('sesame');
  for (const client of ['Codex', 'Gemini CLI'])
    expect(stderr).toMatch(
      new RegExp(`from ${client}: claude ready, gemini-cli ready, .*grok ready`)
    );
  expect(await init('codex', 'gemini-cli', '--yes')).toMatchObject({
    code: 0,
    stdout: ''
  });
  expect(await init('gemini-cli', '--remove', '--yes')).toMatchObject({
    code: 0
  });
});

test('an engine that is ready here and not from the client is named', async () => {
  workspace.write(
    '.codex/config.toml',
    `[mcp_servers.agents]\ncommand = "node"\nargs = ${JSON.stringify(launchArgs())}\nenv_vars = ["ANTHROPIC_API_KEY"]\n`
  );
  const { stderr } = await init('codex', 'copilot', '--yes');
  expect(stderr).toContain(
    'from Codex: claude does not get ANTHROPIC_BASE_URL, gemini-cli has no key (GEMINI_API_KEY is not handed on), '
  );
  expect(stderr).toContain('name them in "env_vars" of its entry');
  expect(stderr).toMatch(
    /from Copilot CLI: .*gemini-cli has no key \(GEMINI_API_KEY is not handed on\).*api_keys\.json/
  );
});

test('a program is asked once for its help, and starts only once for an answer', async () => {
  const asked = join(workspace.home, 'asked');
  workspace.program(
    'gemini',
    `require('node:fs').appendFileSync(${JSON.stringify(asked)},
       process.argv.slice(2) + ' ' + process.env.GEMINI_CLI_NO_RELAUNCH + '\\n');
     console.log("9.9.9");`
  );
  expect(await init('claude', '--yes')).toMatchObject({ code: 0 });
  const lines = readFileSync(asked, 'utf8').trim().split('\n').sort();
  expect(lines).toEqual(['--help true', '--version true', '--version true']);
});

function launchArgs(): string[] {
  const program = join(import.meta.dirname, '../../../dist/troupe.cjs');
  return [program, 'mcp'];
}
