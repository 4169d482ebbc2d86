import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type CommandOptions,
  runCommand,
  startCommand
} from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const init = (args: string[], options?: CommandOptions) =>
  runCommand(workspace, ['init', ...args], options);

test('each server is started as its client would, and the result is printed', async () => {
  // Logs the starts of servers, then runs Node.
  const file = join(workspace.bin, 'node');
  const log = join(workspace.home, 'starts');
  writeFileSync(
    file,
    `#!/bin/sh\ncase "$*" in *mcp) { pwd; env; echo ==; } >> '${log}';; esac\nexec '${process.execPath}' "$@"\n`
  );
  chmodSync(file, 0o755);
  const env = { CODEX_API_KEY: 'k1', MY_TOKEN: 'k2', MY_NAME: 'x' };
  const args = ['claude', 'codex', 'copilot', '--yes', '--engine', 'rehearsal'];
  const { code, stderr } = await init(args, { env });
  expect(code).toBe(0);
  for (const label of ['Claude Code', 'Codex', 'Copilot CLI'])
    expect(stderr).toMatch(
      new RegExp(`${label}: starts in \\d+ ms, \\d\\d tools\n`)
    );
  const starts = readFileSync(log, 'utf8').split('==\n');
  const given = starts.slice(0, 3).map((text) => text.trim().split('\n'));
  const [claude = [], codex = [], copilot = []] = given;
  for (const [folder] of given) expect(folder).toBe(workspace.path);
  expect(claude).toContain(`CLAUDE_PROJECT_DIR=${workspace.path}`);
  expect(claude).toContain('MY_TOKEN=k2');
  const names = codex.slice(1).map((line) => line.split('=')[0]);
  expect(
    names.filter((name) => !/^(PWD|_|SHLVL|OLDPWD)$/.test(`${name}`)).sort()
  ).toEqual([...['CODEX_API_KEY', 'HOME', 'LANG', 'PATH']]);
  expect(copilot).toContain('MY_NAME=x');
  expect(copilot.join()).not.toMatch(/k1|k2/);
});

test('the first task is done by way of the server, and its entry printed as it is written', async () => {
  const { code, stdout, stderr } = await init(['claude', '--yes']);
  expect(code).toBe(0);
  expect(stderr).toContain('rehearsal has ended as completed');
  const entry = stdout.slice(stdout.indexOf('### '));
  expect(entry).toContain('### 🤖 Name the files at the top of this project');
  expect(entry).toContain('Access: read (enforced)');
  const log = join(workspace.path, 'logs', 'IAC.md');
  expect(readFileSync(log, 'utf8')).toContain(entry.trim());
  const again = await init(['claude', '--yes']);
  expect(again).toMatchObject({ code: 0, stdout: '' });
  expect(again.stderr).toMatch(/starts in \d+ ms/);
});

test('with --json all of it is one document', async () => {
  const { code, stdout, stderr } = await init(['codex', '--yes', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    workspace: workspace.path,
    clients: [
      {
        name: 'codex',
        label: 'Codex',
        found: null,
        file: join(workspace.path, '.codex/config.toml'),
        state: null,
        change: 'add',
        problem: null,
        written: true,
        check: {
          ok: true,
          milliseconds: expect.any(Number),
          tools: expect.arrayContaining(['spawn_claude', 'wait_for_agents']),
          problem: null,
          next: null
        }
      }
    ],
    access: {
      file: join(workspace.path, 'troupe.config.json'),
      state: null,
      change: 'add',
      problem: null,
      written: true
    },
    claude_settings: null,
    first_task: {
      engine: 'rehearsal',
      agent_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      status: 'completed',
      problem: null,
      entry: expect.stringContaining('**Done**')
    }
  });
});

test('a server that does not start is reported with its own message', async () => {
  workspace.write('troupe.config.json', '{"maxDepth": 0}');
  const { code, stderr } = await init(['claude', '--yes']);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /Claude Code: It does not start: The configuration is not valid\. maxDepth in .* Fix that/
  );
});

test('a first task that fails is an exit code of 2, and its entry is printed', async () => {
  workspace.program('claude', 'process.exit(7)');
  const { code, stdout } = await init(['codex', '--yes', '--engine', 'claude']);
  expect(code).toBe(2);
  expect(stdout).toMatch(/### 🤖 Name the files[\s\S]*\*\*Failed\*\*/);
});

test('a first task that cannot be started is an exit code of 1, with the reason', async () => {
  workspace.write('troupe.config.json', '{"toolsets": ["council"]}');
  const { code, stdout, stderr } = await init(['codex', '--yes', '--json']);
  expect(code).toBe(1);
  const { first_task } = JSON.parse(stdout);
  const problem = 'There is no tool "spawn_rehearsal".';
  expect(first_task).toMatchObject({ agent_id: null, status: null, problem });
  expect(stderr).toContain(`the first task was not done: ${problem}`);
});

test.each([
  ['grok', 'is an API and works on no files.'],
  ['nobody', 'nobody']
])(
  '%s cannot do the first task, which is reported before anything is written',
  async (engine, why) => {
    const { code, stderr } = await init(['codex', '--yes', '--engine', engine]);
    expect(code).toBe(1);
    expect(stderr).toContain(why);
    expect(existsSync(join(workspace.path, '.codex'))).toBe(false);
  }
);

test.each([
  { command: 'sh', args: ['-c', 'touch "$PWD/bad"', 'troupe', 'mcp'] },
  { command: 'node', args: ['./troupe.cjs', 'mcp', '--strict'] },
  {
    command: 'npx',
    args: ['-y', 'troupe@9.9.9', 'mcp'],
    env: { NODE_OPTIONS: '--require ./bad.cjs' }
  },
  { command: 'npx', args: ['-y', 'troupe@9.9.9', 'mcp', '--config=./bad.cjs'] }
])(
  'an entry that came with the project starts nothing of its own: $command $args',
  async (agents) => {
    const bad = `require('node:fs').writeFileSync('${join(workspace.path, 'bad')}', '')`;
    for (const name of ['troupe.cjs', 'bad.cjs']) workspace.write(name, bad);
    const text = JSON.stringify({ servers: { agents } });
    const path = workspace.write('.vscode/mcp.json', text);
    const { code, stderr } = await init(['vscode', '--engine', 'rehearsal']);
    if (stderr.includes('troupe is there')) {
      expect(code).toBe(0);
      expect(stderr).toContain('is not tried here');
    } else expect(stderr).toContain('nothing was written');
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(existsSync(join(workspace.path, 'bad'))).toBe(false);
  }
);

test('Ctrl-C stops the agent of the first task, and nothing is left', async () => {
  workspace.program(
    'claude',
    // Whether it is ready is asked before, with other arguments.
    `if (process.argv.includes('-p')) {
      require('node:fs').writeFileSync('${join(workspace.home, 'began')}', '');
      setInterval(() => {}, 1000);
    }`
  );
  const args = ['init', 'codex', '--yes', '--engine', 'claude'];
  const command = startCommand(workspace, args);
  const began = () => {
    try {
      return readFileSync(join(workspace.home, 'began'), 'utf8') === '';
    } catch {
      return undefined;
    }
  };
  await until('the agent', began);
  command.child.kill('SIGINT');
  const { code, stderr } = await command.exited;
  expect(code).toBe(130);
  expect(stderr).toContain('interrupted: the agent was stopped');
  const listed = await runCommand(workspace, ['list', '--json']);
  expect(JSON.parse(listed.stdout)).toMatchObject({
    running: [],
    ended: [{ status: 'canceled' }]
  });
  const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  expect(processes).not.toContain(workspace.bin);
  expect(processes).not.toContain(workspace.path);
});

test.each([
  [['engines']],
  [['doctor']],
  [['init', 'codex', '--yes', '--engine', 'claude']]
])('Ctrl-C leaves no program behind that %s has asked', async (args) => {
  const began = join(workspace.home, 'began');
  workspace.program(
    'claude',
    `require('node:fs').writeFileSync('${began}', ''); setInterval(() => {}, 1000)`
  );
  const command = startCommand(workspace, args);
  await until('the program', () => existsSync(began));
  command.child.kill('SIGINT');
  const { code } = await command.exited;
  expect([130, null]).toContain(code);
  // It never ends by itself, and a kill takes a moment to be seen.
  await until('the end of the program', () => {
    const list = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    return !list.includes(workspace.bin);
  });
});
