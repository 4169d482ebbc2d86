import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
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
const textOf = (path: string) => readFileSync(path, 'utf8');

const launch = {
  command: 'node',
  args: [join(packageRoot, 'dist', 'troupe.cjs'), 'mcp']
};

const names = ['claude', 'codex', 'gemini-cli', 'copilot', 'cursor', 'vscode'];

function filesOfAll(): string[] {
  return [
    ...['.mcp.json', '.codex/config.toml', '.gemini/settings.json'].map(pathOf),
    join(workspace.home, '.copilot/mcp-config.json'),
    ...['.cursor/mcp.json', '.vscode/mcp.json'].map(pathOf)
  ];
}

test('init writes the entry of each client once, and a second time nothing', async () => {
  const first = await init(...names, '--yes');
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toContain('+       "command": "node"');
  const files = filesOfAll();
  expect(JSON.parse(textOf(pathOf('.mcp.json')))).toEqual({
    mcpServers: { agents: { type: 'stdio', ...launch } }
  });
  const facts = () =>
    files.map((file) => [textOf(file), statSync(file).mtimeMs]);
  const before = facts();
  const second = await init(...names, '--yes');
  expect(second).toMatchObject({ code: 0, stdout: '' });
  expect(second.stderr.match(/stays as it is/g)).toHaveLength(names.length);
  expect(facts()).toEqual(before);
  const { stdout } = await init();
  expect(stdout.match(/ is there /g)).toHaveLength(names.length);
});

test('init --remove takes away all that init has put there, and nothing else', async () => {
  const claude =
    '{\r\n  // mine\r\n  "mcpServers": {"x": {"command": "y"},}\r\n}';
  const codex = '# mine\nmodel = "m" # why\n\n[mcp_servers.x]\ncommand = "y"\n';
  workspace.write('.mcp.json', claude);
  workspace.write('.codex/config.toml', codex);
  expect(await init(...names, '--yes')).toMatchObject({ code: 0 });
  expect(textOf(pathOf('.mcp.json'))).toContain('// mine\r\n');
  const shown = await init('claude', 'codex', '--remove');
  expect(shown.code).toBe(1);
  expect(shown.stdout).toContain('- [mcp_servers.agents]');
  expect(textOf(pathOf('.codex/config.toml'))).not.toBe(codex);
  expect(await init('--remove', '--yes')).toMatchObject({ code: 0 });
  expect(textOf(pathOf('.mcp.json'))).toBe(claude);
  expect(textOf(pathOf('.codex/config.toml'))).toBe(codex);
  expect(readdirSync(workspace.path).sort()).toEqual([
    ...['.codex', '.mcp.json', 'troupe.config.json']
  ]);
  expect(readdirSync(workspace.home)).toEqual([]);
  const again = await init('--remove', '--yes');
  expect(again).toMatchObject({ code: 0, stdout: '' });
});

test('a foreign entry stays, and init says so', async () => {
  const text = '{"mcpServers": {"agents": {"command": "mine"}}}';
  const path = workspace.write('.mcp.json', text);
  for (const [flag, code] of [
    ['--yes', 1] as const,
    ['--remove', 0] as const
  ]) {
    const { stderr, ...rest } = await init('claude', flag, '--yes');
    expect(rest).toEqual({ code, stdout: '' });
    expect(stderr).toContain('does not start troupe stays as it is');
    expect(textOf(path)).toBe(text);
  }
});

test('init writes nothing without asking', async () => {
  for (const [flags, code] of [[['--dry-run'], 0] as const, [[], 1] as const]) {
    const shown = await init('claude', ...flags);
    expect(shown.code).toBe(code);
    expect(shown.stdout).toContain('+   "mcpServers": {');
    expect(existsSync(pathOf('.mcp.json'))).toBe(false);
  }
});

test('init leaves a file that it cannot read alone, and prints the entry', async () => {
  const text = '{\n  // mine\n';
  const path = workspace.write('.vscode/mcp.json', text);
  const { code, stdout } = await init('vscode', '--yes');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    servers: { agents: { type: 'stdio', ...launch } }
  });
  expect(textOf(path)).toBe(text);
});

test('init writes through a link, and leaves the rights of a file', async () => {
  const path = workspace.write('kept/settings.json', '{"mine": 1}');
  symlinkSync(path, pathOf('.mcp.json'));
  const { mode } = statSync(path);
  const { code, stdout } = await init('claude', '--yes');
  expect(code).toBe(0);
  expect(stdout).toContain(` -> ${path}\n`);
  expect(JSON.parse(textOf(path))).toMatchObject({ mine: 1, mcpServers: {} });
  expect(statSync(path).mode).toBe(mode);
});

test('init knows no other client', async () => {
  const { code, stderr } = await init('emacs');
  expect(code).toBe(1);
  expect(stderr).toContain('There is no client "emacs". Use one of: claude, ');
});

test('a client is here by its program, or by what it has left', async () => {
  workspace.program('codex', '');
  mkdirSync(join(workspace.home, '.cursor'));
  const { stdout, stderr } = await init();
  const found = stdout.split('\n').filter((line) => / {2}found /.test(line));
  expect(found.map((line) => line.split(' ')[0])).toEqual(['codex', 'cursor']);
  expect(stderr).toContain('nothing was written');
  const { clients } = JSON.parse((await init('--json')).stdout);
  expect(clients[1]).toMatchObject({
    name: 'codex',
    found: join(workspace.bin, 'codex'),
    change: 'add',
    written: false
  });
  expect(await init('--yes')).toMatchObject({ code: 0 });
  expect(readdirSync(workspace.path).sort()).toEqual([
    ...['.codex', '.cursor', 'troupe.config.json']
  ]);
});

test.each([
  [undefined, 'troupe.config.json', '{\n  "maxAccess": "write"\n}\n'],
  [
    '{\n\t"maxDepth": 1\n}',
    'troupe.config.json',
    '{\n\t"maxDepth": 1,\n\t"maxAccess": "write"\n}'
  ],
  ['{"maxAccess": "full"}\n', '.trouperc', '{"maxAccess": "write"}\n'],
  [
    '{"name": "x", "troupe": {"maxDepth": 1}}',
    'package.json',
    '{"name": "x", "troupe": {"maxDepth": 1, "maxAccess": "write"}}'
  ]
])(
  '--access goes into the configuration: %j in %s',
  async (before, name, after) => {
    if (before !== undefined) workspace.write(name, before);
    const args = ['claude', '--yes', '--access', 'write'];
    const { code, stdout } = await init(...args);
    expect(code).toBe(0);
    expect(stdout).toContain(`Ceiling for every agent, "write": ${name}`);
    expect(textOf(pathOf(name))).toBe(after);
    const shown = await runCommand(workspace, ['config', '--json']);
    expect(JSON.parse(shown.stdout).settings).toContainEqual(
      expect.objectContaining({ path: ['maxAccess'], value: 'write' })
    );
    expect(await init(...args)).toMatchObject({ code: 0, stdout: '' });
  }
);

test('without a word about it agents may write, and what is set stays', async () => {
  const first = await init('codex', '--yes');
  expect(first).toMatchObject({ code: 0 });
  expect(first.stderr).toContain(
    'Agents may read, and change files of this project (maxAccess "write"). Codex calls list, result, '
  );
  expect(JSON.parse(textOf(pathOf('troupe.config.json')))).toEqual({
    maxAccess: 'write'
  });
  for (const level of ['full', 'read']) {
    await init('codex', '--yes', '--access', level);
    const again = await init('codex', '--yes');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toContain(`(maxAccess "${level}")`);
    expect(JSON.parse(textOf(pathOf('troupe.config.json')))).toEqual({
      maxAccess: level
    });
  }
});

test('an entry that approves every tool is named as such', async () => {
  workspace.write(
    '.codex/config.toml',
    `[mcp_servers.agents]\ncommand = "node"\nargs = ${JSON.stringify(launch.args)}\ndefault_tools_approval_mode = "approve"\n`
  );
  const { stderr } = await init('codex', '--yes');
  expect(stderr).toContain('Codex calls every tool without asking');
});

test('in a configuration that is not JSON, --access is put in by hand', async () => {
  const text = '# mine\nmaxDepth: 1\n';
  const path = workspace.write('troupe.config.yaml', text);
  const { code, stdout } = await init('claude', '--yes', '--access', 'read');
  expect(code).toBe(1);
  expect(stdout).toContain('"maxAccess": "read"');
  expect(textOf(path)).toBe(text);
});

test('an entry of another copy is offered the start of this one', async () => {
  const old = ['/old/dist/troupe.cjs', 'mcp', '--strict'];
  const text = ({ command, args }: typeof launch) =>
    `{"mcpServers": {"agents": {"command": "${command}", "args": ["${args.join('", "')}"]}}} `;
  const theirs = { ...launch, args: old };
  const path = workspace.write('.mcp.json', text(theirs));
  expect((await init()).stdout).toMatch(/^claude .* old /m);
  expect((await init('claude')).code).toBe(1);
  expect(textOf(path)).toBe(text(theirs));
  expect(await init('claude', '--yes')).toMatchObject({ code: 0 });
  expect(textOf(path)).toBe(
    text({ ...launch, args: [...launch.args, '--strict'] })
  );
});

test('other commands start without anything that only init needs', () => {
  const copy = join(workspace.home, 'troupe');
  cpSync(join(packageRoot, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(packageRoot, 'package.json'), join(copy, 'package.json'));
  rmSync(join(copy, 'dist', 'lazy'), { recursive: true });
  const code = (...args: string[]) =>
    spawnSync(process.execPath, [join(copy, 'dist', 'troupe.cjs'), ...args], {
      cwd: workspace.path,
      env: testEnvironment(workspace)
    }).status;
  for (const command of ['--version', 'list', 'engines', 'config'])
    expect(code(command), command).toBe(0);
  expect(code('init', 'claude', '--dry-run')).toBe(1);
});
