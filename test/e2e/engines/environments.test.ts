import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  programs,
  type RecordedCall,
  recordCalls
} from '../../kit/servers/recorded-calls.ts';
import {
  byShell,
  byTerminal,
  environment,
  expectOnly,
  ofTmux,
  ofWorkers
} from '../../kit/workspaces/environment-stage.ts';
import { gitIn } from '../../kit/workspaces/git-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let workspace: TempWorkspace;
let calls: () => RecordedCall[];
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  calls = recordCalls(workspace, ['plugin', 'template', 'chat']);
  workspace.write(
    'plugin.mjs',
    `export default {
      kind: 'cli', name: 'plugin', description: 'x', command: 'plugin',
      args: () => [], env: { keep: ['PLUGIN_KEY'] },
      access: { read: 'asked', write: 'asked', full: 'asked' }
    };\n`
  );
  workspace.write('run.template', 'template <%= chatId %>');
  workspace.write('chat.template', 'chat');
  workspace.write('evil.sh', `#!/bin/sh\ntouch '${workspace.path}/touched'\n`);
  chmodSync(join(workspace.path, 'evil.sh'), 0o755);
});

afterEach(async () => {
  await server?.close();
  expect(existsSync(join(workspace.path, 'touched'))).toBe(false);
  expect(server?.impurities ?? []).toEqual([]);
  workspace.remove();
});

function configure(orchestrator: Record<string, unknown> = {}): void {
  const config = {
    toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
    plugins: ['./plugin.mjs'],
    council: { scope: 'project' },
    orchestrator
  };
  workspace.write('troupe.config.json', JSON.stringify(config));
}

async function serve(more: Record<string, string> = {}): Promise<McpClient> {
  server = await startServer(workspace, { env: environment(more) });
  return server;
}

async function allEnded(client: McpClient): Promise<void> {
  while ((await client.call('wait_for_agents', {})).data.status === 'timeout');
}

test('an agent gets what is listed for all and for its engine, no more', async () => {
  configure();
  const client = await serve();
  for (const [engine] of [...programs, ['plugin']]) {
    const tool = `spawn_${String(engine).replace('-', '_')}`;
    await client.call(tool, { prompt: 'x' });
  }
  await allEnded(client);
  const seen = calls();
  expect(seen.map(({ program }) => program).sort()).toEqual(
    [...programs.map(([, program]) => program), 'plugin'].sort()
  );
  for (const call of seen) expectOnly(call);
});

test('so does a member of a squad, whose engine is a template', async () => {
  configure();
  const client = await serve({
    ENGINE: 'template',
    STATE_MODE: 'stateful',
    RUN_TEMPLATE_PATH: 'run.template',
    CREATE_CHAT_TEMPLATE_PATH: 'chat.template'
  });
  addTo('chat', "fs.writeFileSync(1, 'chat-1');");
  const members = [{ roleId: 'debugger', task: 'x' }];
  const { isError, text } = await client.call('start_squad_members', {
    members
  });
  expect(isError, text).toBe(false);
  const seen = calls();
  expect(seen.map(({ program }) => program).sort()).toEqual([
    'chat',
    'template'
  ]);
  for (const call of seen) expectOnly(call);
});

test('so do experts and summoned agents', async () => {
  configure();
  const client = await serve();
  const engines = ['codex', 'copilot'];
  await client.call('second_opinion', { question: 'x?', engines });
  await client.call('start_council', { agent_name: 'a', request: 'x' });
  await client.call('summon_agent', { engine: 'codex' });
  await allEnded(client);
  expect(calls()).toHaveLength(3);
  for (const call of calls()) expectOnly(call);
});

test('so does a worker, and what its caller gives it besides', async () => {
  configure({ backend: 'process', readyTimeoutSeconds: 20 });
  const client = await serve();
  for (const engine of ['claude', 'codex', 'copilot', 'gemini-cli'])
    await client.call('agent_create', {
      name: engine,
      role: 'x',
      engine,
      env: { GIVEN: 'a\nb=c' }
    });
  const seen = calls();
  expect(seen).toHaveLength(4);
  for (const call of seen) {
    expectOnly(call, ['GIVEN', ...(ofWorkers[call.program] ?? [])]);
    expect(call.env.GIVEN).toBe('a\nb=c');
  }
});

testTmux('so does one in a pane of a tmux that we have started', async () => {
  configure({ backend: 'tmux', readyTimeoutSeconds: 20 });
  const socket = workspace.home;
  addTo('codex', 'setInterval(() => undefined, 1e6);');
  const client = await serve({ TMUX_TMPDIR: socket });
  const tmux = (...args: string[]) =>
    execFileSync('tmux', args, {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, TMUX_TMPDIR: socket }
    });
  const args = { name: 'a', role: 'x', engine: 'codex' };
  const made = client.call('agent_create', { ...args, env: { GIVEN: 'y' } });
  await until('its program', () => calls().length > 0 || undefined);
  const given = tmux('show-environment', '-g').split('\n');
  tmux('kill-server');
  await made;
  const names = given.map((line) => line.replace(/=.*/, ''));
  expect(names.filter((name) => !ofTmux.includes(name))).toEqual([]);
  for (const call of calls())
    expectOnly(call, ['GIVEN'], [...byShell, ...byTerminal]);
});

/** Lets a stand-in do one thing more. */
function addTo(program: string, code: string): void {
  const source = readFileSync(join(workspace.bin, program), 'utf8');
  workspace.program(program, `${source.replace(/^#!.*\n/, '')}${code}`);
}

test('git gets no key, and nothing that makes it run a program', async () => {
  configure();
  const git = locate('git');
  gitIn(workspace.path, 'init', '--quiet');
  const log = join(workspace.bin, 'git.log');
  writeFileSync(log, '');
  workspace.program(
    'git',
    `const { spawnSync } = require('node:child_process');
     require('node:fs').appendFileSync(${JSON.stringify(log)},
       JSON.stringify(process.env) + '\\n');
     const { status } = spawnSync(${JSON.stringify(git)},
       process.argv.slice(2), { stdio: 'inherit' });
     process.exit(status ?? 1);`
  );
  const client = await serve();
  await client.call('spawn_claude', { prompt: 'x' });
  await allEnded(client);
  const seen = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  expect(seen.length).toBeGreaterThan(3);
  const known =
    /^(HOME|PATH|LC_ALL|XDG_CONFIG_HOME|GIT_(CEILING_DIRECTORIES|TERMINAL_PROMPT|OPTIONAL_LOCKS|LITERAL_PATHSPECS|DIR|WORK_TREE|INDEX_FILE))$/;
  for (const line of seen) {
    const env: Record<string, string> = JSON.parse(line);
    expect(Object.keys(env).filter((name) => !known.test(name))).toEqual([]);
    // Its repository is the one that we name.
    expect(Object.values(env)).not.toContain('/nowhere');
  }
});

test('doctor asks programs with no more than agents get, and what their plugins add for a probe', async () => {
  configure();
  await runCommand(workspace, ['doctor'], { env: environment() });
  const seen = calls();
  expect(seen.map(({ program }) => program)).toEqual(
    expect.arrayContaining(programs.map(([, program]) => program))
  );
  const mayLack = ['IS_SANDBOX'];
  for (const call of seen) {
    call.env.IS_SANDBOX ??= '1';
    const probed = call.program === 'gemini' ? ['GEMINI_CLI_NO_RELAUNCH'] : [];
    expectOnly(call, probed, [...byShell, ...mayLack]);
  }
});
