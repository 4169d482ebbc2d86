import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { gitIn } from '../../kit/workspaces/git-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const init = (...args: string[]) =>
  runCommand(workspace, ['init', '--no-check', ...args]);
const pathOf = (name: string) => join(workspace.path, name);
const homeOf = (name: string) => join(workspace.home, name);
const textOf = (path: string) => readFileSync(path, 'utf8');

const userFiles = {
  claude: '.claude.json',
  codex: '.codex/config.toml',
  'gemini-cli': '.gemini/settings.json',
  cursor: '.cursor/mcp.json',
  copilot: '.copilot/mcp-config.json'
};

test('--user sets up all projects, once, and --remove takes it out', async () => {
  const mine = '{"numStartups": 3, "mcpServers": {"x": {"command": "y"}}}';
  writeFileSync(homeOf('.claude.json'), mine);
  const names = Object.keys(userFiles);
  const first = await init(...names, '--user', '--yes');
  expect(first).toMatchObject({ code: 0 });
  expect(first.stderr).toContain(
    'In a project without maxAccess they may do anything you may do.'
  );
  for (const file of Object.values(userFiles)) {
    expect(textOf(homeOf(file))).toMatch(/agents"?[\]:]/);
    expect(existsSync(pathOf(file))).toBe(false);
  }
  expect(existsSync(pathOf('.mcp.json'))).toBe(false);
  expect(await init(...names, '--user', '--yes')).toMatchObject({
    code: 0,
    stdout: ''
  });
  expect(await init('--user', '--remove', '--yes')).toMatchObject({ code: 0 });
  expect(textOf(homeOf('.claude.json'))).toBe(mine);
  for (const name of ['.codex', '.gemini', '.cursor', '.copilot'])
    expect(existsSync(homeOf(name))).toBe(false);
  const { code, stderr } = await init('vscode', '--user', '--yes');
  expect(code).toBe(1);
  expect(stderr).toContain('Call it without --user');
});

test('files of a project that hold a path of this machine stay out of git', async () => {
  gitIn(workspace.path, 'init', '--quiet');
  const exclude = pathOf('.git/info/exclude');
  mkdirSync(pathOf('.git/info'), { recursive: true });
  writeFileSync(exclude, '# mine\n*.tmp\n');
  workspace.write('.gemini/settings.json', '{}\n');
  const clients = ['claude', 'codex', 'gemini-cli'];
  const { code, stderr } = await init(...clients, '--yes');
  expect(code).toBe(0);
  expect(stderr).toContain(
    'Do not commit our entry in .mcp.json, .codex/config.toml, .gemini/settings.json: they hold a path of this machine.'
  );
  const seen = gitIn(workspace.path, 'status', '--porcelain', '-uall');
  expect(seen.trim().split('\n')).toEqual([
    '?? .gemini/settings.json',
    '?? troupe.config.json'
  ]);
  expect(await init(...clients, '--yes')).toMatchObject({
    code: 0,
    stdout: ''
  });
  expect(await init('--remove', '--yes')).toMatchObject({ code: 0 });
  expect(textOf(exclude)).toBe('# mine\n*.tmp\n');
});

test('nothing is written by way of a .git that leads elsewhere', async () => {
  const elsewhere = homeOf('other');
  mkdirSync(elsewhere);
  gitIn(elsewhere, 'init', '--quiet');
  rmSync(join(elsewhere, '.git/info'), { recursive: true, force: true });
  workspace.write('.git', `gitdir: ${join(elsewhere, '.git')}\n`);
  await init('claude', '--yes');
  rmSync(pathOf('.git'));
  symlinkSync(join(elsewhere, '.git'), pathOf('.git'));
  const { stderr } = await init('claude', 'codex', '--yes');
  expect(stderr).toContain('Do not commit our entry in');
  expect(existsSync(join(elsewhere, '.git/info'))).toBe(false);
});

test('an exclude file that cannot be edited is named, and the client is set up', async () => {
  gitIn(workspace.path, 'init', '--quiet');
  const exclude = pathOf('.git/info/exclude');
  mkdirSync(pathOf('.git/info'), { recursive: true });
  const mine = Buffer.from([0x61, 0x0a, 0xff, 0xfe, 0x0a]);
  writeFileSync(exclude, mine);
  const { code, stdout, stderr } = await init('claude', '--yes');
  expect(code).toBe(1);
  expect(stderr).toContain('.git/info/exclude is not UTF-8 text');
  expect(stdout).toContain('/.mcp.json');
  expect(existsSync(pathOf('.mcp.json'))).toBe(true);
  expect(readFileSync(exclude)).toEqual(mine);
  expect(await init('claude', '--remove', '--yes')).toMatchObject({ code: 0 });
  expect(existsSync(pathOf('.mcp.json'))).toBe(false);
});
