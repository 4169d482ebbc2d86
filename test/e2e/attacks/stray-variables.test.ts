import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  server = undefined;
});

afterEach(async () => {
  await server?.close();
  workspace.remove();
});

/** Names that squads share with programs of all kinds. */
const stray = {
  STATE_MODE: 'prod',
  ENGINE: 'innodb',
  ENGINE_COMMAND: '/usr/bin/engine',
  RUN_TEMPLATE_PATH: '/no/such/template',
  EXECUTION_MODE: 'docker',
  PROCESS_TIMEOUT_MS: 'soon',
  AGENTS_DIRECTORY_PATH: '/no/such/agents'
};

async function toolsOf(client: McpClient): Promise<string[]> {
  const { tools } = await client.request('tools/list');
  return (tools as { name: string }[]).map(({ name }) => name);
}

describe('variables that another program has are none of the business of', () => {
  test.each([
    [['list'], 0, ''],
    [['cancel', '00000000'], 1, 'no agent "00000000"'],
    [['engines'], 0, ''],
    [['log'], 0, ''],
    [['run', 'rehearsal', 'say hello'], 0, 'Rehearsal']
  ])('%j', async (args, code, said) => {
    const answer = await runCommand(workspace, args, { env: stray });
    expect(answer.stderr).toContain(said);
    expect(answer.stderr).not.toContain('configuration');
    expect(answer.code).toBe(code);
  });

  test.each([
    ['a flag', ['--toolsets', 'spawn'], {}, {}],
    ['TROUPE_TOOLSETS', [], { TROUPE_TOOLSETS: 'spawn,runs' }, {}],
    ['the file', [], {}, { toolsets: ['spawn'] }]
  ])(
    'a server whose toolset squad %s leaves out',
    async (_, flags, env, file) => {
      workspace.write('.trouperc.json', JSON.stringify(file));
      const options = { flags, env: { ...stray, ...env } };
      server = await startServer(workspace, options);
      const tools = await toolsOf(server);
      expect(tools).toContain('spawn_claude');
      expect(tools).not.toContain('start_squad_members');
    }
  );
});

describe('they apply and are reported in', () => {
  test.each([['doctor'], ['roles']])('%s', async (command) => {
    const env = { STATE_MODE: 'prod' };
    const { code, stdout, stderr } = await runCommand(workspace, [command], {
      env
    });
    expect(stdout + stderr).toContain('squad.stateMode from STATE_MODE');
    expect(code).toBe(1);
  });

  test('roles, whatever the toolsets of the server', async () => {
    workspace.write('.trouperc.json', '{"toolsets": ["spawn"]}');
    workspace.write('team/lead.md', 'You lead.');
    const env = { AGENTS_DIRECTORY_PATH: 'team' };
    const { stdout } = await runCommand(workspace, ['roles'], { env });
    expect(stdout).toMatch(/^lead +workspace/m);
  });

  test('doctor only where the toolset is served', async () => {
    workspace.write('.trouperc.json', '{"toolsets": ["spawn"]}');
    const { code } = await runCommand(workspace, ['doctor'], { env: stray });
    expect(code).toBe(0);
  });
});

describe('--engines', () => {
  test('is not widened by ENGINE: the server does not start', async () => {
    server = await startServer(workspace, {
      flags: ['--engines', 'codex'],
      env: { ENGINE: 'claude' },
      raw: true
    });
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stderr).toBe(
      'troupe: ENGINE (squad.engine) names "claude", which is not among those that --engines (TROUPE_ENGINES) offers. Use one of codex, name it there too, or set RUN_TEMPLATE_PATH for a program of your own.\n'
    );
  });

  test('is next to a template that is named like an engine', async () => {
    workspace.write('run.template', 'true');
    server = await startServer(workspace, {
      flags: ['--engines', 'codex'],
      env: { ENGINE: 'claude', RUN_TEMPLATE_PATH: 'run.template' }
    });
    const tools = await toolsOf(server);
    expect(tools).toContain('spawn_codex');
    expect(tools).not.toContain('spawn_claude');
  });

  test('may be left out: ENGINE switches an engine on', async () => {
    server = await startServer(workspace, { env: { ENGINE: 'rehearsal' } });
    const tools = await toolsOf(server);
    expect(tools).toContain('spawn_rehearsal');
    expect(tools).toContain('spawn_claude');
  });
});

test('a program for an API stops the start', async () => {
  server = await startServer(workspace, {
    env: { ENGINE: 'grok', ENGINE_COMMAND: 'my-grok' },
    raw: true
  });
  expect(await server.exited).toEqual({ code: 1, signal: null });
  expect(server.stderr).toContain('ENGINE_COMMAND (squad.engineCommand)');
  expect(server.stderr).toContain('an API');
});
