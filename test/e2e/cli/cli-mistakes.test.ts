import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeUp } from '../../kit/agents/made-up-agents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeAll(() => {
  workspace = createTempWorkspace();
  for (const agent_id of ['abcd1111', 'abcd2222', 'ef001234'])
    makeUp(workspace.record, {
      agent_id,
      daysAgo: 1,
      text: `I am ${agent_id}\n`
    });
  workspace.write('.trouperc.json', '{ "maxConcurent": 3 }');
  workspace.write('fine.json', '{}');
});

afterAll(() => workspace.remove());

const troupe = (...args: string[]) =>
  runCommand(workspace, [...args], { env: { TROUPE_ENGINES: '' } });

const fine = ['--config', 'fine.json'];

test.each([
  ['a command', ['lst'], 'There is no command "lst". Did you mean list?'],
  ['a command to explain', ['help', 'rnu'], 'Did you mean "run"?'],
  ['a flag', ['list', '--lmit', '3'], 'Did you mean --limit?'],
  ['an engine', ['run', 'cluade', 'x', ...fine], 'Did you mean "claude"?'],
  [
    'an engine to offer',
    ['engines', '--engines', 'codx', ...fine],
    'Did you mean "codex"?'
  ],
  ['an id', ['result', 'ef001243', ...fine], 'Did you mean "ef001234"?'],
  ['an id to end', ['cancel', 'ef00123a', ...fine], 'Did you mean "ef001234"?'],
  ['an id to wait for', ['wait', 'ff001234', ...fine], 'mean "ef001234"?'],
  [
    'a role',
    ['roles', 'code-reviwer', ...fine],
    'Did you mean "code-reviewer"?'
  ],
  ['an engine that is off', ['run', 'rehersal', 'x', ...fine], '"rehearsal"?'],
  ['a shell', ['completion', 'bsh'], 'Did you mean "bash"'],
  ['a level', ['run', 'claude', 'x', '--access', 'raed'], '"read"?'],
  [
    'a flag of the server',
    ['mcp', '--max-acess', 'read'],
    'Did you mean "--max-access"? See: troupe mcp --help'
  ],
  ['its toolsets', ['mcp', '--toolset', 'spawn'], 'mean "--toolsets"?'],
  [
    'a flag of the council',
    ['council', 'mcp', '--agnt-name', 'x'],
    'Did you mean "--agent-name"? See: council mcp --help'
  ],
  [
    'a toolset',
    ['mcp', '--toolsets', 'spwn', ...fine],
    'Did you mean "spawn"?'
  ],
  ['a setting', ['list'], 'Did you mean "maxConcurrent"?']
])(
  '%s that is mistyped gets a suggestion in one line, exit code 1',
  async (_, args, words) => {
    const { code, stdout, stderr } = await troupe(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^troupe: [^\n]+\n$/);
    expect(stderr).toContain(words);
  }
);

test.each([
  [['completion', 'tcsh'], 'Invalid <shell> "tcsh". Use one of: bash, zsh'],
  [['list', '-n', 'ten'], 'Invalid value "ten" for --limit. Give a whole'],
  [['run', 'claude', 'x', '--access', 'rwx'], 'Use one of: read, write, full.'],
  [['list', '--nope'], 'There is no flag --nope. See: troupe help list'],
  [['list', '--limit'], 'The value of --limit is missing.'],
  [['result'], 'The argument <id> is missing.'],
  [['result', 'a', 'b'], 'Too many arguments: 1 expected, 2 given.'],
  [['log', '--verify', '--head'], '--verify and --head cannot be used together']
])('%j is refused in words of our own', async (args, words) => {
  const { code, stderr } = await troupe(...args);
  expect(code).toBe(1);
  expect(stderr).toContain(words);
  expect(stderr).not.toMatch(/argument value|option '|Allowed choices/i);
});

test('the beginning of an id says which agent is meant', async () => {
  const { code, stdout } = await troupe('result', 'abcd1', ...fine);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'I am abcd1111\n' });
  // As logs/IAC.md has it.
  const whole = await troupe('cancel', '#EF00', '--json', ...fine);
  expect(JSON.parse(whole.stdout)).toMatchObject({ agent_id: 'ef001234' });
  const waited = await troupe('wait', 'ef00', 'abcd2', '--json', ...fine);
  expect(JSON.parse(waited.stdout)).toMatchObject({
    status: 'all_completed',
    results: [{ agent_id: 'ef001234' }, { agent_id: 'abcd2222' }]
  });
});

test('a beginning of several ids, or one that is too short, is refused', async () => {
  const several = await troupe('result', 'abcd', ...fine);
  expect(several).toMatchObject({ code: 1, stdout: '' });
  expect(several.stderr).toMatch(
    /"abcd" is the beginning of 2 ids: abcd\d{4}, abcd\d{4}\. Give more of it\.$/m
  );
  const short = await troupe('cancel', 'ef0', ...fine);
  expect(short.stderr).toContain('There is no agent "ef0" in this workspace.');
});

test.each([
  ['a mistyped flag', ['list', '--jsn', '--json'], 'invalid_input'],
  [
    'an unknown engine',
    ['run', 'nobody', 'x', '--json', ...fine],
    'unknown_engine'
  ],
  ['an unknown id', ['cancel', '00000000', '--json', ...fine], 'unknown_agent'],
  ['settings that do not hold', ['list', '--json'], 'config_invalid']
])(
  'with --json, %s is reported as one line of JSON with its code',
  async (_, args, code) => {
    const refused = await troupe(...args);
    expect(refused.code).toBe(1);
    expect(refused.stdout.trimEnd().split('\n')).toHaveLength(1);
    const { error } = JSON.parse(refused.stdout);
    expect(error).toEqual({
      code,
      message: expect.stringMatching(/[.?]$/),
      hint: expect.stringMatching(/\S/)
    });
    expect(refused.stderr).toBe(`troupe: ${error.message} ${error.hint}\n`);
  }
);

test('a value that begins with a dash is asked for in one line', async () => {
  const refused = await troupe('mcp', '--process-timeout-ms', '-5');
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'troupe: The value of --process-timeout-ms is missing, or begins with a dash. If it has to begin with one, write --process-timeout-ms=VALUE. See: troupe mcp --help\n'
  });
});

test('doctor asks which engine is meant by settings for none', async () => {
  workspace.write('slip.json', '{ "engines": { "cluade": { "model": "x" } } }');
  const args = ['--json', '--engines', 'rehearsal', '--config', 'slip.json'];
  const { stdout } = await troupe('doctor', ...args);
  expect(JSON.parse(stdout).next[0]).toMatch(
    /^Correct the name cluade in "engines", or take it out: .* Did you mean "claude"\? /
  );
});

test.each([
  ['list', '--engines', ''],
  ['roles', '--workspace', ''],
  ['run', 'rehearsal', 'hi', '--model', '']
])(
  'a flag of %s whose value is empty is refused by its name',
  async (...args) => {
    const { code, stdout, stderr } = await troupe(...args, ...fine);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `troupe: The value of ${args.at(-2)} is empty. Give it one, or leave it out.\n`
    );
  }
);

test('what is no flag does not ask for JSON', async () => {
  const { code, stdout } = await troupe(
    'run',
    'nobody',
    ...fine,
    '--',
    '--json'
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

test('without a command it shows help with the first steps', async () => {
  const { code, stdout, stderr } = await troupe();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^First steps:\n(?: {2}\$ troupe .*\n){3}/m);
  expect((await troupe('help')).stdout).toBe(stdout);
});
