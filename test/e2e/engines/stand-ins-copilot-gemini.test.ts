import { existsSync } from 'node:fs';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test
} from 'vitest';
import { recordingsOf } from '../../kit/agents/recordings.ts';
import { type StandIn, standIn } from '../../kit/agents/stand-in.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { surroundings } from '../../kit/workspaces/surroundings.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let copilot: StandIn;
let gemini: StandIn;

const passedToAll = [
  ...['HOME', 'PATH', 'LANG', 'LC_ALL', 'TZ', 'HTTPS_PROXY'],
  ...['TROUPE_AGENT_ID', 'TROUPE_AGENT_DIR', 'TROUPE_DEPTH']
];

/** What their users set, and the marks of sessions we may run in. */
const theirs = {
  COPILOT_GITHUB_TOKEN: 'secret-of-copilot',
  COPILOT_MODEL: 'gpt-x',
  COPILOT_PROVIDER_TYPE: 'anthropic',
  COPILOT_AGENT_SESSION_ID: 'outer',
  COPILOT_ALLOW_ALL: 'true',
  COPILOT_CLI: '1',
  COPILOT_CLI_VERSION: '1.0.0',
  GEMINI_MODEL: 'flash',
  GOOGLE_CLOUD_PROJECT: 'project',
  GEMINI_CLI: '1',
  GEMINI_CLI_IDE_SERVER_PORT: '1',
  GEMINI_CLI_NO_RELAUNCH: 'true'
};

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('sub/file', '');
  copilot = standIn(workspace, 'copilot');
  gemini = standIn(workspace, 'gemini');
  const env = { ...surroundings, ...theirs };
  server = await startServer(workspace, { env });
});

beforeEach(() => {
  copilot.says(recorded('copilot', 'success'));
  gemini.says(recorded('gemini-cli', 'success'));
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

describe('copilot is called', () => {
  const start = ['--output-format', 'json', '--no-color'];
  const all = ['--allow-all-tools', '--allow-all-paths'];
  const reading = '--available-tools=view,grep,rg,glob';

  test.each([
    ['plainly', {}, [...start, ...all]],
    [
      'to write',
      { access: 'write' },
      [
        ...start,
        `${reading},create,edit,apply_patch`,
        '--disallow-temp-dir',
        '--allow-tool=write'
      ]
    ],
    ['to read', { access: 'read' }, [...start, reading, '--disallow-temp-dir']],
    [
      'with an alias',
      { model: 'gpt-5.1' },
      [...start, ...all, '--model', 'gpt-5.5']
    ],
    [
      'with a model we do not know',
      { model: 'gpt-next' },
      [...start, ...all, '--model', 'gpt-next']
    ]
  ])('%s', async (_, more, argv) => {
    await run('spawn_copilot', more);
    const named = expect.stringMatching(/^--session-id=[0-9a-f-]{36}$/);
    expect(copilot.seen().argv).toEqual([...argv, named]);
    expect(copilot.seen().stdin.toString()).toBe('Say hi');
  });

  test('with its session when it goes on', async () => {
    const more = { access: 'read', cwd: 'sub' };
    const { agent_id, session_id } = await run('spawn_copilot', more);
    await run('continue_agent', { agent_id, prompt: 'Go on' });
    const { argv, cwd, stdin } = copilot.seen();
    expect(session_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(argv.at(-1)).toBe(`--resume=${session_id}`);
    expect(argv).toContain(reading);
    expect(cwd).toBe(`${workspace.path}/sub`);
    expect(stdin.toString()).toBe('Go on');
  });
});

describe('gemini-cli is called', () => {
  const start = [
    ...['--output-format', 'stream-json'],
    ...['--raw-output', '--accept-raw-output-risk', '--approval-mode']
  ];
  const policy = expect.stringMatching(/^--admin-policy=\/.+\.toml$/);

  test.each([
    ['plainly', {}, [...start, 'yolo']],
    ['to write', { access: 'write' }, [...start, 'auto_edit', policy]],
    ['to read', { access: 'read' }, [...start, 'default', policy]],
    [
      'with an alias',
      { model: 'flash-lite' },
      [...start, 'yolo', '--model', 'flash-lite']
    ],
    [
      'with a model we do not know',
      { model: 'gemini-next' },
      [...start, 'yolo', '--model', 'gemini-next']
    ]
  ])('%s', async (_, more, argv) => {
    await run('spawn_gemini_cli', more);
    expect(gemini.seen().argv).toEqual(argv);
    expect(gemini.seen().stdin.toString()).toBe('Say hi');
  });

  test('with a policy that is there', async () => {
    await run('spawn_gemini_cli', { access: 'read' });
    const [, file = ''] = gemini.seen().argv.at(-1)?.split('=') ?? [];
    expect(existsSync(file)).toBe(true);
  });

  test('with its session when it goes on', async () => {
    const more = { access: 'write', cwd: 'sub' };
    const { agent_id, session_id } = await run('spawn_gemini_cli', more);
    await run('continue_agent', { agent_id, prompt: 'Go on' });
    const { argv, cwd } = gemini.seen();
    expect(argv.at(-1)).toBe(`--resume=${session_id}`);
    expect(argv).toContain('auto_edit');
    expect(cwd).toBe(`${workspace.path}/sub`);
  });
});

describe('the environment holds what is allowed and nothing else', () => {
  test('of copilot', async () => {
    await run('spawn_copilot', {});
    expect(namesOf(copilot)).toEqual(
      [
        ...passedToAll,
        ...['COPILOT_GITHUB_TOKEN', 'COPILOT_MODEL', 'COPILOT_PROVIDER_TYPE'],
        ...['GH_TOKEN', 'GITHUB_TOKEN']
      ].sort()
    );
  });

  test('of gemini-cli', async () => {
    await run('spawn_gemini_cli', {});
    expect(namesOf(gemini)).toEqual(
      [
        ...passedToAll,
        ...['GEMINI_API_KEY', 'GEMINI_CLI_TRUST_WORKSPACE', 'GEMINI_MODEL'],
        ...['GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT']
      ].sort()
    );
    expect(gemini.seen().env.GEMINI_CLI_TRUST_WORKSPACE).toBe('true');
  });
});

describe.each([
  ['copilot', 'spawn_copilot', () => copilot],
  ['gemini-cli', 'spawn_gemini_cli', () => gemini]
] as const)('%s', (name, tool, program) => {
  test('is given a system prompt before the prompt', async () => {
    await run(tool, { system_prompt: '--help "me"\n$(now)' });
    const { argv, stdin } = program().seen();
    expect(stdin.toString()).toBe('--help "me"\n$(now)\n\nSay hi');
    expect(argv.join(' ')).not.toContain('me');
  });

  test('is given a prompt of a megabyte whole', async () => {
    const prompt = `--yes "q" \\ $HOME 한글 😀\r\n\t`.repeat(30_000);
    await run(tool, { prompt });
    expect(program().seen().stdin.equals(Buffer.from(prompt))).toBe(true);
  });

  test.each([
    ['not-logged-in', 'not_logged_in'],
    ['status-401', 'auth'],
    ['status-429', 'rate_limited'],
    ['unknown-session', 'spawn_failed'],
    ['hang-sigterm', undefined]
  ])('that ends as in "%s" has failed', async (recording, code) => {
    const { stdout, stderr, exitCode } = caseOf(name, recording);
    program().says(stdout, exitCode ?? 0, stderr);
    const { data } = await ended(tool, {});
    expect(data.success).toBe(false);
    expect(['failed', 'interrupted']).toContain(data.status);
    if (code) expect(data.error_code).toBe(code);
  });
});

function caseOf(engine: string, name: string) {
  const found = recordingsOf(engine).find((one) => one.case === name);
  if (!found) throw new Error(`There is no recording ${engine}/${name}.`);
  return found;
}

function recorded(engine: string, name: string): string {
  return caseOf(engine, name).stdout;
}

/** Spawns, waits for the end, and gives the result. */
async function ended(tool: string, more: Record<string, unknown>) {
  const spawned = await server.call(tool, { prompt: 'Say hi', ...more });
  expect(spawned.data.status, spawned.text).toBe('running');
  const { agent_id } = spawned.data;
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  return server.call('result', { agent_id });
}

async function run(tool: string, more: Record<string, unknown>) {
  const { data } = await ended(tool, more);
  expect(data).toMatchObject({ status: 'completed', result: 'All done.' });
  return data;
}

/** What a shell adds by itself is not counted. */
function namesOf(program: StandIn): string[] {
  // The last is only there while the user has no tmux server.
  const own = ['PWD', 'OLDPWD', 'SHLVL', '_', 'TMUX_TMPDIR'];
  return Object.keys(program.seen().env)
    .filter((name) => !own.includes(name))
    .sort();
}
