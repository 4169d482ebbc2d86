import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

const own = '.claude/settings.local.json';
const init = (...args: string[]) =>
  runCommand(workspace, ['init', 'claude', '--yes', '--no-check', ...args]);
const pathOf = (name: string) => join(workspace.path, name);
const textOf = (name: string) => readFileSync(pathOf(name), 'utf8');
const settings = (name = own): unknown => JSON.parse(textOf(name));

/** The JSON blocks of the guide, with the program of this copy. */
function guide(): unknown[] {
  const root = join(import.meta.dirname, '../../..');
  const page = join(root, 'docs/guides/notifications.md');
  const blocks = readFileSync(page, 'utf8').matchAll(/```json\n(.*?)```/gs);
  return [...blocks].map(([, text = '']) =>
    JSON.parse(text.replaceAll('/absolute/path/to/troupe', root))
  );
}

test('--hooks adds what the guide shows, once, and --remove takes it out', async () => {
  const first = await init('--hooks');
  expect(first.code).toBe(0);
  expect(first.stdout).toContain('notify --hook claude');
  const [hook, line] = guide();
  expect(settings()).toEqual(Object.assign({}, hook, line));
  const before = textOf(own);
  expect(await init('--hooks')).toMatchObject({ code: 0, stdout: '' });
  expect(textOf(own)).toBe(before);
  expect(await init('--remove')).toMatchObject({ code: 0 });
  expect(existsSync(pathOf('.claude'))).toBe(false);
});

test('without --hooks the settings of Claude Code stay as they are', async () => {
  expect(await init()).toMatchObject({ code: 0 });
  expect(existsSync(pathOf(own))).toBe(false);
});

test('settings, hooks and a status line of the user stay', async () => {
  const mine = `{
  // mine
  "model": "opus",
  "statusLine": { "type": "command", "command": "my-line" },
  "hooks": {
    "Stop": [],
    "PostToolUse": [
      { "matcher": "Write", "hooks": [{ "type": "command", "command": "fmt" }] }
    ]
  }
}
`;
  workspace.write(own, mine);
  expect(await init('--hooks')).toMatchObject({ code: 0 });
  const text = textOf(own);
  expect(text).toContain('// mine');
  expect(text).toContain('"command": "my-line"');
  expect(text).not.toContain('statusline');
  expect(text.match(/"matcher"/g)).toHaveLength(2);
  expect(await init('--remove')).toMatchObject({ code: 0 });
  expect(textOf(own).replace(/\s/g, '')).toBe(mine.replace(/\s/g, ''));
});

test('a hook of another copy of troupe gets the program of this one', async () => {
  expect(await init('--hooks')).toMatchObject({ code: 0 });
  const now = textOf(own);
  const old = now.replace(/node \S+troupe\.cjs/g, 'node /old/troupe.cjs');
  expect(old).not.toBe(now);
  writeFileSync(pathOf(own), old);
  expect(await init()).toMatchObject({ code: 0 });
  expect(textOf(own)).toBe(now);
});

test('a status line for all projects is not added to one of them', async () => {
  const user = join(workspace.home, '.claude/settings.json');
  mkdirSync(dirname(user), { recursive: true });
  const mine = '{"statusLine": {"type": "command", "command": "my-line"}}';
  writeFileSync(user, mine);
  expect(await init('--hooks')).toMatchObject({ code: 0 });
  expect(Object.keys(settings() as object)).toEqual(['hooks']);
  expect(readFileSync(user, 'utf8')).toBe(mine);
});

test('--user --hooks writes the settings of all projects', async () => {
  expect(await init('--user', '--hooks')).toMatchObject({ code: 0 });
  const user = join(workspace.home, '.claude/settings.json');
  expect(readFileSync(user, 'utf8')).toContain('notify --hook claude');
  expect(existsSync(pathOf(own))).toBe(false);
  expect(await init('--user', '--remove')).toMatchObject({ code: 0 });
  expect(existsSync(user)).toBe(false);
});

test('settings that cannot be edited stay, and the exit code says so', async () => {
  workspace.write(own, '{"hooks": ');
  const { code, stdout, stderr } = await init('--hooks');
  expect(code).toBe(1);
  expect(stderr).toContain(`${own} is not valid JSON (line 1)`);
  expect(stdout).toContain('"matcher"');
  expect(textOf(own)).toBe('{"hooks": ');
  expect(await init()).toMatchObject({ code: 0 });
});

test.each([
  '{}',
  '{ }',
  '{}\n',
  '{\r\n}\r\n',
  '',
  ' \n\n',
  '{"hooks":{}}',
  '{"permissions":{"allow":["Bash(ls)"]}}',
  '{"statusLine": {"type": "command", "command": "mine"}}\n',
  '// only a note\n{}',
  '{\n  "hooks": {\n    "PostToolUse": []\n  },\n}\n',
  '{\n  "a": 1, // one\n}\n',
  '{"hooks":{"PostToolUse":[\n// none yet\n]}}',
  '{"hooks": {"PostToolUse": [ /* keep */ ], "PreToolUse": []}}',
  '{\n\t"hooks": {\n\t\t// mine\n\t\t"PostToolUse": [\n\t\t\t{"hooks": []} // last\n\t\t]\n\t}\n}\n'
])('--remove restores %j byte for byte', async (mine) => {
  workspace.write(own, mine);
  expect(await init('--hooks')).toMatchObject({ code: 0 });
  const added = textOf(own);
  expect(added).toContain('notify --hook claude');
  expect(await init('--hooks')).toMatchObject({ code: 0, stdout: '' });
  expect(textOf(own)).toBe(added);
  expect(await init('--remove')).toMatchObject({ code: 0 });
  expect(textOf(own)).toBe(mine);
});

test.each([
  ['{"hooks": {"PostToolUse": {"mine": 1}}}', 'has no list'],
  ['{"hooks": {"PostToolUse": null, "PreToolUse": []}}', 'has no list'],
  ['{"hooks": []}', 'has no object "hooks"'],
  ['{"hooks": {"A": []}, "hooks": {"B": []}}', 'has "hooks" more than once'],
  ['[]', 'is not a JSON object']
])('%s stays as it is, and the reason is given', async (mine, reason) => {
  workspace.write(own, mine);
  const { code, stdout, stderr } = await init('--hooks');
  expect(code).toBe(1);
  expect(stderr).toContain(`${own} ${reason}`);
  expect(stdout).toContain('"matcher"');
  expect(textOf(own)).toBe(mine);
});

test('a hook of ours that cannot be taken out is reported', async () => {
  expect(await init('--hooks')).toMatchObject({ code: 0 });
  const twice = textOf(own).replace('{', '{ "hooks": {},');
  writeFileSync(pathOf(own), twice);
  const { code, stderr } = await init('--remove');
  expect(code).toBe(1);
  expect(stderr).toContain('take it out by hand');
  expect(textOf(own)).toBe(twice);
});

test('the file that it makes stays out of git', async () => {
  gitIn(workspace.path, 'init', '--quiet');
  expect(await init('--hooks')).toMatchObject({ code: 0 });
  const seen = gitIn(workspace.path, 'status', '--porcelain', '-uall');
  expect(seen).not.toContain('.claude');
});

test('--json says what becomes of the settings', async () => {
  const { stdout } = await init('--hooks', '--json');
  const { claude_settings: said } = JSON.parse(stdout);
  expect(said).toMatchObject({
    file: pathOf(own),
    change: 'add',
    problem: null,
    written: true
  });
});
