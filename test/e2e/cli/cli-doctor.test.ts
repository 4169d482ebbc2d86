import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mcpFlags } from '../../../src/cli/commands/serve/mcp.ts';
import {
  type CommandOptions,
  runCommand
} from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
/** PATH with the stand-ins and nothing else. */
let env: Record<string, string>;

beforeEach(() => {
  workspace = createTempWorkspace();
  env = { PATH: workspace.bin };
});

afterEach(() => workspace.remove());

const troupe = (args: string[], options: CommandOptions = { env }) =>
  runCommand(workspace, args, options);

async function diagnosis(options?: CommandOptions) {
  const { code, stdout } = await troupe(['doctor', '--json'], options);
  return { code, ...JSON.parse(stdout) };
}

test('without any engine doctor says how to get one, and exits 0', async () => {
  const { code, stdout, stderr } = await troupe(['doctor']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`workspace  ${workspace.path}\n`);
  expect(stdout).toContain('config     none, defaults are used\n');
  expect(stdout).toContain('claude (cli): not ready\n');
  expect(stdout).toMatch(/1\. claude: Install it: npm install -g @anthropic/);
  expect(stdout).toContain('troupe run rehearsal');
  expect(stdout).not.toContain('\u001b');
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('doctor --json has stable keys', async () => {
  workspace.program('claude', 'console.log("2.1.7 (Claude Code)")');
  const found = await diagnosis();
  expect(found).toMatchObject({
    code: 0,
    ok: true,
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    workspace: workspace.path,
    config: { file: null, problem: null },
    node: { version: process.versions.node, required: '20.19', ok: true },
    directories: [
      { path: join(workspace.path, 'logs'), state: 'created when needed' },
      { path: join(workspace.path, '.agents'), state: 'created when needed' },
      { path: workspace.record, state: 'created when needed' }
    ],
    tmux: null,
    faults: [],
    next: ['Try: troupe run claude "explain this repository"']
  });
  expect(found.engines[0]).toEqual({
    name: 'claude',
    kind: 'cli',
    tool: 'spawn_claude',
    description: expect.any(String),
    available: true,
    command: 'claude',
    path: join(workspace.bin, 'claude'),
    access: { read: 'enforced', write: 'enforced', full: 'enforced' },
    models: { default: 'sonnet', aliases: expect.any(Object) },
    keys: [],
    pass_env: [],
    version: '2.1.7 (Claude Code)',
    tested: {
      says: expect.stringMatching(/^older than verified \(\d.*\), flags/),
      verified: { oldest: expect.any(String), newest: expect.any(String) },
      gone: null
    },
    login: 'unknown',
    ready: true,
    next: null
  });
});

test('doctor reports missing logins and asks no model', async () => {
  const calls = join(workspace.home, 'calls');
  workspace.program(
    'claude',
    `require('node:fs').appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(' ') + '\\n');
     if (process.argv[2] === 'auth') { console.log('{"loggedIn": false}'); process.exit(1); }
     console.log('2.1.7');`
  );
  const { engines, code } = await diagnosis();
  expect(code).toBe(0);
  expect(engines[0]).toMatchObject({
    login: 'not logged in',
    available: true,
    ready: false,
    next: 'Run "claude auth login", or set ANTHROPIC_API_KEY.'
  });
  expect(readFileSync(calls, 'utf8').trim().split('\n').sort()).toEqual([
    '--help',
    '--version',
    'auth status'
  ]);
});

test('doctor names the keys it sees and never their values', async () => {
  workspace.program('claude', 'console.log(`{"loggedIn": false} 2.1.7`)');
  const secret = 'a-very-secret-value-1234';
  const keys = { ANTHROPIC_API_KEY: secret, OTHER_API_KEY: secret };
  const { code, stdout, stderr } = await troupe(['doctor', '--json'], {
    env: { ...env, ...keys }
  });
  expect(code).toBe(0);
  expect(`${stdout}${stderr}`).not.toContain(secret);
  expect(JSON.parse(stdout).engines[0]).toMatchObject({
    keys: [{ name: 'ANTHROPIC_API_KEY', from: 'environment' }],
    login: 'not logged in',
    ready: true
  });
  const text = await troupe(['doctor'], { env: { ...env, ...keys } });
  expect(text.stdout).toContain('keys       ANTHROPIC_API_KEY (environment)\n');
  expect(text.stdout).not.toContain(secret);
});

test('a program that is slow to answer is ready all the same', async () => {
  workspace.program(
    'claude',
    `setTimeout(() => console.log(process.argv.includes('auth') ? '{"loggedIn": true}' : '2.1.7'), 5500);`
  );
  const { engines } = await diagnosis();
  expect(engines[0]).toMatchObject({
    version: '2.1.7',
    login: 'logged in',
    ready: true,
    next: null
  });
});

test('a program that does not answer costs 15 s and is ended', async () => {
  const started = join(workspace.home, 'pid');
  workspace.program(
    'claude',
    `require('node:fs').appendFileSync(${JSON.stringify(started)}, process.pid + '\\n');
     setInterval(() => undefined, 1000);`
  );
  const { engines } = await diagnosis();
  expect(engines[0]).toMatchObject({
    version: null,
    login: 'unknown',
    ready: false,
    next: `Find out why ${join(workspace.bin, 'claude')} does not answer within 15 s.`
  });
  for (const pid of readFileSync(started, 'utf8').trim().split('\n'))
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
});

test('a plugin that does not load is named, with the reason; exit 1', async () => {
  workspace.write('broken.mjs', 'export default { kind: "cli", name: "b" };');
  workspace.write('.trouperc.json', '{"plugins": ["./broken.mjs"]}');
  const { code, stdout } = await troupe(['doctor']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/1\. Fix the plugin \.\/broken\.mjs.*command/);
  const found = await diagnosis();
  expect(found).toMatchObject({
    code: 1,
    ok: false,
    config: { file: join(workspace.path, '.trouperc.json'), problem: null },
    faults: [
      { plugin: './broken.mjs', problem: expect.stringContaining('command') }
    ]
  });
  const engines = await troupe(['engines', '--json']);
  expect(engines.code).toBe(0);
  expect(JSON.parse(engines.stdout).faults).toEqual(found.faults);
  expect(engines.stderr).toContain('./broken.mjs was left out');
});

test('a configuration that does not hold: doctor still looks, exit 1', async () => {
  workspace.write('.trouperc.json', '{"maxConcurrent": 0}');
  const found = await diagnosis();
  expect(found).toMatchObject({ code: 1, ok: false });
  expect(found.config.problem).toMatch(/maxConcurrent in .+\.trouperc\.json/);
  expect(found.engines.length).toBeGreaterThan(0);
  expect(found.next[0]).toBe(found.config.problem);
  const list = await troupe(['list']);
  expect(list).toMatchObject({ code: 1, stdout: '' });
  expect(list.stderr).toMatch(/^troupe: [^\n]*maxConcurrent[^\n]*\n$/);
});

test('engines is a table of what can run', async () => {
  workspace.program('codex', '');
  const { code, stdout } = await troupe(['engines']);
  expect(code).toBe(0);
  const rows = stdout.trimEnd().split('\n');
  expect(rows[0]).toMatch(/^NAME +KIND +READY +ACCESS +TOOL +MODELS$/);
  expect(stdout).toMatch(/^claude +cli +not installed +\S+ +spawn_claude/m);
  expect(stdout).toMatch(/^codex +cli +yes +\S+ +spawn_codex/m);
  expect(stdout).not.toContain('rehearsal');
  const named = await troupe(['engines', '--engines', 'rehearsal', '--json']);
  const { engines } = JSON.parse(named.stdout);
  expect(engines).toMatchObject([
    { name: 'rehearsal', tool: 'spawn_rehearsal', available: true }
  ]);
});

test('every command explains itself with examples', async () => {
  const { code, stdout } = await troupe(['--help']);
  expect(code).toBe(0);
  const commands = [
    ...stdout.matchAll(/^ {2}([a-z]+)(?: [<[]\S+)* {2,}/gm)
  ].flatMap(([, name]) =>
    name === undefined || name === 'help' ? [] : [name]
  );
  expect(commands).toEqual(
    'run continue ask list result diff apply wait watch web asks answer cancel notify statusline log report clean record init trust doctor engines roles config completion mcp council'.split(
      ' '
    )
  );
  for (const command of commands) {
    // Its one command has the flags.
    const path = command === 'council' ? [command, 'mcp'] : [command];
    const help = await troupe([...path, '--help']);
    expect(help.code).toBe(0);
    expect(help.stdout).toMatch(/Examples:\n {2}\$ /);
    if (!['completion', 'statusline'].includes(command))
      expect(help.stdout).toContain('--workspace <dir>');
  }
});

test('the help of mcp lists every flag the server takes', async () => {
  const { stdout } = await troupe(['mcp', '--help']);
  const listed = [...stdout.matchAll(/^ {2}--([a-z-]+)/gm)].map(
    ([, name]) => name
  );
  expect(listed.sort()).toEqual(Object.keys(mcpFlags).sort());
});
