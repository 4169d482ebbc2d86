import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { surroundings } from '../../kit/workspaces/surroundings.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let claude: StandIn;
let codex: StandIn;
const asRoot = process.getuid?.() === 0 ? ['IS_SANDBOX'] : [];

const passedToAll = [
  ...['HOME', 'PATH', 'LANG', 'LC_ALL', 'TZ', 'HTTPS_PROXY'],
  ...['TROUPE_AGENT_ID', 'TROUPE_AGENT_DIR', 'TROUPE_DEPTH']
];

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('sub/file', '');
  claude = standIn(workspace, 'claude');
  codex = standIn(workspace, 'codex');
  server = await startServer(workspace, { env: surroundings });
});

beforeEach(() => {
  for (const [engine, program] of Object.entries({ claude, codex }))
    program.says(
      recordingsOf(engine).find((one) => one.case === 'success')?.stdout ?? ''
    );
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

describe('claude is called', () => {
  const common = ['-p', '--output-format', 'stream-json', '--verbose'];
  const all = 'Bash,Read,Write,Edit,Glob,Grep';
  const skip = '--dangerously-skip-permissions';
  const usual = [...common, '--model', 'sonnet', '--tools', all, skip];
  const write = ['Read,Write,Edit,Glob,Grep', '--permission-mode'];

  test.each([
    ['plainly', {}, usual],
    ['with full access', { access: 'full' }, usual],
    [
      'to write',
      { access: 'write' },
      [...usual.slice(0, -2), ...write, 'acceptEdits']
    ],
    [
      'to read',
      { access: 'read' },
      [...usual.slice(0, -2), 'Read,Glob,Grep', '--permission-mode', 'dontAsk']
    ],
    [
      'with an alias',
      { model: 'opus' },
      [...common, '--model', 'opus', '--tools', all, skip]
    ],
    [
      'with a model we do not know',
      { model: 'claude-next[1m]' },
      [...common, '--model', 'claude-next[1m]', '--tools', all, skip]
    ],
    [
      'with a system prompt',
      { system_prompt: '--help "me"\n$(now)' },
      [...usual, '--append-system-prompt', '--help "me"\n$(now)']
    ]
  ])('%s', async (_, more, argv) => {
    await run('spawn_claude', more);
    expect(claude.seen().argv).toEqual(argv);
    expect(claude.seen().stdin.toString()).toBe('Say hi');
  });

  test('with its session when it goes on', async () => {
    const { agent_id, session_id } = await run('spawn_claude', {
      access: 'read',
      model: 'haiku',
      cwd: 'sub'
    });
    await run('continue_agent', { agent_id, prompt: 'Go on' });
    const seen = claude.seen();
    expect(seen.argv.at(-1)).toBe(`--resume=${session_id}`);
    expect(seen.argv).toContain('haiku');
    expect(seen.argv).toContain('dontAsk');
    expect(seen.cwd).toBe(`${workspace.path}/sub`);
    expect(seen.stdin.toString()).toBe('Go on');
  });
});

describe('codex is called', () => {
  const start = ['exec', '--json', '--skip-git-repo-check'];
  const bypass = '--dangerously-bypass-approvals-and-sandbox';
  const at = () => ['-C', workspace.path];

  test.each([
    ['plainly', {}, () => [...start, bypass, ...at(), '-']],
    [
      'to write',
      { access: 'write' },
      () => [...start, '-s', 'workspace-write', ...at(), '-']
    ],
    [
      'to read',
      { access: 'read' },
      () => [...start, '-s', 'read-only', ...at(), '-']
    ],
    [
      'in a folder, with a model',
      { model: 'gpt-x', cwd: 'sub' },
      () => [
        ...start,
        bypass,
        '-C',
        `${workspace.path}/sub`,
        '-m',
        'gpt-x',
        '-'
      ]
    ],
    [
      'with a system prompt',
      { system_prompt: 'Say "hi"\n' },
      () => [
        ...[...start, bypass, ...at(), '-c'],
        ...['developer_instructions="Say \\"hi\\"\\n"', '-']
      ]
    ]
  ])('%s', async (_, more, argv) => {
    await run('spawn_codex', more);
    expect(codex.seen().argv).toEqual(argv());
    expect(codex.seen().stdin.toString()).toBe('Say hi');
  });

  test('with its session when it goes on', async () => {
    const { agent_id, session_id } = await run('spawn_codex', {});
    await run('continue_agent', { agent_id, prompt: 'Go on' });
    const argv = codex.seen().argv;
    expect(argv.slice(-4)).toEqual(['resume', '--', session_id, '-']);
  });
});

describe('the environment holds what is allowed and nothing else', () => {
  test('of claude', async () => {
    await run('spawn_claude', {});
    expect(namesOf(claude)).toEqual(
      [
        ...passedToAll,
        ...['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'],
        ...['CLAUDE_CODE_MAX_RETRIES', ...asRoot]
      ].sort()
    );
  });

  test('of codex', async () => {
    await run('spawn_codex', {});
    expect(namesOf(codex)).toEqual(
      [
        ...passedToAll,
        ...['CODEX_API_KEY', 'CODEX_HOME', 'OPENAI_API_KEY']
      ].sort()
    );
    expect(codex.seen().env.TROUPE_DEPTH).toBe('1');
  });

  test('and no key of ours reaches a log', async () => {
    await run('spawn_codex', { prompt: 'secret-of-claude secret-of-openai' });
    expect(codex.seen().stdin.toString()).toContain('secret-of-claude');
    const { journal, views } = workspace.paths;
    for (const file of [journal, join(views.directory, 'IAC.md')]) {
      const text = await until('the log', () => {
        const written = readFileSync(file, 'utf8');
        return written.includes('[redacted]') ? written : undefined;
      });
      expect(text).not.toContain('secret-of');
    }
  });
});

test.each([
  ['1 MB with quotes, newlines, unicode and flags', bigPrompt()],
  ['one that begins like a flag', '--version'],
  ['blank lines at both ends', '\n\n  \r\nhi\t\n\n'],
  ['shell words', '$(id) `id` "\' && rm -rf / ; | > x %PATH% !!']
])('a prompt arrives whole on stdin: %s', async (_, prompt) => {
  await run('spawn_claude', { prompt });
  expect(claude.seen().stdin.equals(Buffer.from(prompt))).toBe(true);
  await run('spawn_codex', { prompt });
  expect(codex.seen().stdin.equals(Buffer.from(prompt))).toBe(true);
});

function bigPrompt(): string {
  const line = '--yes "quoted" \'single\' \\ $HOME 한글 😀 é\r\n\t';
  return line.repeat(Math.ceil(1_050_000 / Buffer.byteLength(line)));
}

/** Spawns, waits for the end, and gives the result. */
async function run(tool: string, more: Record<string, unknown>) {
  const spawned = await server.call(tool, { prompt: 'Say hi', ...more });
  expect(spawned.data.status, spawned.text).toBe('running');
  const { agent_id } = spawned.data;
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  const { data } = await server.call('result', { agent_id });
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
