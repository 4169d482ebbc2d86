import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CommandResult,
  RunningCommand
} from '../../kit/servers/command-line.ts';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  refusal
} from '../../kit/servers/council-calls.ts';
import {
  type McpClient,
  startServer,
  testEnvironment
} from '../../kit/servers/mcp-client.ts';

const dist = join(import.meta.dirname, '../../../dist');

/** The command as it is installed, and its other name. */
const commands: [name: string, program: string[]][] = [
  ['council', ['council.cjs']],
  ['troupe council', ['troupe.cjs', 'council']]
];

const councilTools = [
  'start_council',
  'join_council',
  'get_current_session_data',
  'wait_for_responses',
  'send_response',
  'summon_agent',
  'close_council'
];

let servers: CouncilServers;

beforeEach(() => {
  servers = createCouncilServers();
});

afterEach(() => servers.close());

function run(args: string[], program = ['council.cjs']) {
  const [file = '', ...before] = program;
  const { workspace } = servers;
  const child = spawn(
    process.execPath,
    [join(dist, file), ...before, ...args],
    { cwd: workspace.path, env: testEnvironment(workspace) }
  );
  child.stdin.end();
  return new RunningCommand(child).exited;
}

interface ShownTool {
  name: string;
  inputSchema: { properties?: Record<string, unknown>; required?: string[] };
}

async function toolsOf(server: McpClient): Promise<ShownTool[]> {
  const { tools } = await server.request('tools/list');
  return tools as ShownTool[];
}

const namesOf = async (server: McpClient) =>
  (await toolsOf(server)).map(({ name }) => name);

describe.each(commands)('%s', (_, program) => {
  test.each([[[]], [['serve']], [['help']], [['--agent-name', 'x']]])(
    'with %j says what to run instead',
    async (args) => {
      expect(await run(args, program)).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'Startup error: you need to run council mcp in order to start the mcp server\n'
      });
    }
  );

  test('prints its version and its help on stdout', async () => {
    for (const flag of ['--version', '-V']) {
      const { stdout, ...rest } = await run([flag], program);
      expect(rest).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    }
    for (const flag of ['--help', '-h']) {
      const { stdout, ...rest } = await run([flag], program);
      expect(rest).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('Usage: council ');
      expect(stdout).toContain('mcp');
      const mcp = await run(['mcp', flag], program);
      expect(mcp).toMatchObject({ code: 0, stderr: '' });
      for (const word of ['council mcp', '--agent-name', '-n', '--format'])
        expect(mcp.stdout).toContain(word);
    }
  });

  test.each([
    [['--bogus'], '--bogus'],
    [['-f', 'xml'], '"xml"'],
    [['--format'], '--format'],
    [['-n'], '--agent-name'],
    [['-n', ' '], '--agent-name'],
    [['-n', 'n'.repeat(201)], '--agent-name'],
    [['serve'], 'serve'],
    [['--max-access', 'all'], '--max-access'],
    [['--engines', 'nobody'], '"nobody"'],
    [['--config', 'nowhere.json'], 'nowhere.json']
  ])('mcp refuses %j in a line on stderr', async (flags, named) => {
    const refused: CommandResult = await run(['mcp', ...flags], program);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^troupe: .+\n$/);
    expect(refused.stderr).toContain(named);
  });
});

describe('council mcp', () => {
  test('serves the seven tools of the council and no other', async () => {
    const server = await servers.start();
    const tools = await toolsOf(server);
    expect(tools.map(({ name }) => name)).toEqual(councilTools);
    for (const { name, inputSchema } of tools) {
      expect(inputSchema.properties).toHaveProperty('agent_name');
      if (name !== 'summon_agent')
        expect(inputSchema.required).toContain('agent_name');
    }
    expect(
      await namesOf(await servers.start({ flags: ['-f', 'json'] }))
    ).toEqual(councilTools);
  });

  test.each(['-n', '--agent-name'])(
    'with %s asks for no name and uses that',
    async (flag) => {
      const server = await servers.start({ flags: [flag, ' Zoë 🦊 '] });
      for (const { inputSchema } of await toolsOf(server)) {
        expect(inputSchema.properties).not.toHaveProperty('agent_name');
        expect(inputSchema.required ?? []).not.toContain('agent_name');
      }
      const agent_name = 'Zoë 🦊';
      for (const [tool, args] of [
        ['start_council', { request: 'Which?' }],
        ['join_council', {}],
        ['get_current_session_data', {}],
        ['wait_for_responses', { timeout: 0 }],
        ['send_response', { content: 'This.' }],
        ['close_council', { conclusion: 'This.' }]
      ] as const)
        expect(await done(server, tool, args)).toMatchObject({ agent_name });
      const answer = server.call('join_council', { agent_name: 'other' });
      const { code, error } = await refusal(answer);
      expect(code).toBe('invalid_input');
      expect(error).toContain('"agent_name"');
      expect(servers.state().participants).toMatchObject([{ agent_name }]);
    }
  );

  test('with a name that another server has is numbered', async () => {
    const flags = ['-n', 'claude'];
    const [one, two] = await Promise.all([
      servers.start({ flags }),
      servers.start({ flags })
    ]);
    await done(one, 'start_council', { request: 'Which?' });
    const joined = await done(two, 'join_council', {});
    expect(joined).toMatchObject({ agent_name: 'claude#2' });
  });
});

describe('troupe mcp', () => {
  let server: McpClient | undefined;

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const start = async (...flags: string[]) => {
    server = await startServer(servers.workspace, { flags });
    return server;
  };

  test('offers the council with the other toolsets, 23 tools in all', async () => {
    const names = await namesOf(await start());
    expect(names).toHaveLength(23);
    expect(names).toEqual(expect.arrayContaining(councilTools));
    const one = await servers.start();
    await done(one, 'start_council', { agent_name: 'a', request: 'Which?' });
    const joined = await server?.call('join_council', { agent_name: 'a' });
    expect(joined?.data).toMatchObject({
      agent_name: 'a#2',
      request: { content: 'Which?' }
    });
    expect(JSON.parse(String(joined?.text))).toEqual(joined?.data);
  });

  test('leaves it out where other toolsets are chosen', async () => {
    const names = await namesOf(await start('--toolsets', 'spawn'));
    expect(names).toContain('spawn_claude');
    for (const name of councilTools) expect(names).not.toContain(name);
  });

  test('offers it alone where that is chosen', async () => {
    const names = await namesOf(await start('--toolsets', 'council'));
    expect(names).toEqual(councilTools);
  });
});
