import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import {
  type Extra,
  missingExtras,
  planExtras,
  planExtrasRemoval
} from './claude-extras.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  vi.stubEnv('HOME', workspace.home);
  vi.stubEnv('CLAUDE_CONFIG_DIR', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  workspace.remove();
});

const local = '.claude/settings.local.json';
const both: Extra[] = ['wake', 'status'];
const request = (isForUser = false) => ({
  workspace: workspace.path,
  isForUser
});

const settings = (value: unknown, name = local) =>
  workspace.write(
    name,
    typeof value === 'string' ? value : JSON.stringify(value)
  );

async function editOf(wanted: Extra[] = both) {
  return Object((await planExtras(wanted, request()))?.edit);
}

/** The text of the settings after the extras are added. */
async function textWith(wanted: Extra[] = both): Promise<string> {
  const { text } = await editOf(wanted);
  return String(text);
}

const hookIn = (text: string) => JSON.parse(text).hooks.PostToolUse.at(-1);
const statusIn = (text: string) => JSON.parse(text).statusLine.command;

describe('extras that are added', () => {
  test('make the file, with a hook that waits for a day and a status line', async () => {
    const plan = await planExtras(both, request());
    expect(plan).toMatchObject({
      label: 'Claude Code, hook and status line',
      file: join(workspace.path, local),
      edit: { change: 'add' }
    });
    const text = await textWith();
    expect(statusIn(text)).toMatch(/troupe\.cjs'? statusline$/);
    expect(hookIn(text)).toMatchObject({
      matcher: 'mcp__agents__(spawn_.*|continue_agent|start_squad_members)',
      hooks: [
        {
          command: expect.stringMatching(/ notify --hook claude$/),
          ...{ type: 'command', asyncRewake: true, timeout: 86_400 }
        }
      ]
    });
  });

  test('are only those that are wanted, and none when none is', async () => {
    const wake = JSON.parse(await textWith(['wake']));
    expect(Object.keys(wake)).toEqual(['hooks']);
    const status = JSON.parse(await textWith(['status']));
    expect(Object.keys(status)).toEqual(['statusLine']);
    expect(await planExtras([], request())).toBeUndefined();
  });

  test.each([
    ['', {}],
    [' \n', {}],
    ['{"model": "m"}', { model: 'm' }],
    ['{"hooks": {}}', {}],
    ['{"hooks": {"PostToolUse": []}}', {}]
  ])('keep what is in the file: "%s"', async (before, kept) => {
    settings(before);
    const text = await textWith();
    expect(JSON.parse(text)).toMatchObject({ ...kept, statusLine: {} });
    expect(hookIn(text).hooks[0].command).toMatch(/ notify --hook claude$/);
    expect((await planExtras(both, request()))?.edit).toMatchObject({
      change: 'update'
    });
  });

  test('come after the hooks of other programs', async () => {
    const other = { matcher: 'x', hooks: [{ type: 'command', command: 'y' }] };
    settings({ hooks: { PostToolUse: [other] } });
    const { hooks } = JSON.parse(await textWith());
    expect(hooks.PostToolUse).toHaveLength(2);
    expect(hooks.PostToolUse[0]).toEqual(other);
  });

  test('do not replace a status line of the user', async () => {
    settings({ statusLine: { type: 'command', command: 'mine' } });
    expect(statusIn(await textWith())).toBe('mine');
    expect(await missingExtras(request())).toEqual(['wake']);
  });

  test('are complete: a second plan changes nothing', async () => {
    settings(await textWith());
    expect(await planExtras(both, request())).toBeUndefined();
    expect(await missingExtras(request())).toEqual([]);
  });

  test('of another copy of troupe get the command of this one, wanted or not', async () => {
    const text = await textWith();
    settings(text.replaceAll('dist/troupe.cjs', 'old/dist/troupe.cjs'));
    expect(await textWith([])).toBe(text);
  });

  test.each([
    ['[]', 'is not a JSON object'],
    ['{"hooks": []}', 'has no object "hooks"'],
    ['{"hooks": {"PostToolUse": {}}}', 'has no list "hooks.PostToolUse"'],
    ['{"hooks": {}, "hooks": {}}', 'has "hooks" more than once'],
    ['{"statusLine": 1, "statusLine": 2}', 'has "statusLine" more than once'],
    [
      '{"hooks": {"PostToolUse": [], "PostToolUse": []}}',
      'has "PostToolUse" more than once'
    ]
  ])('are not written into %s', async (before, problem) => {
    settings(before);
    expect((await editOf()).problem).toBe(problem);
    expect(await missingExtras(request())).toEqual(both);
    expect(await planExtras([], request())).toBeUndefined();
  });

  test('that have to be written by hand are shown', async () => {
    chmodSync(settings({ model: 'm' }), 0o444);
    const { problem, entry } = await editOf(['status']);
    expect(problem).toBe('is read-only');
    expect(Object.keys(JSON.parse(entry))).toEqual(['statusLine']);
    const wake = JSON.parse((await editOf(['wake'])).entry);
    expect(Object.keys(wake)).toEqual(['hooks']);
    expect(hookIn(JSON.stringify(wake)).hooks).toHaveLength(1);
  });
});

describe('extras of all projects', () => {
  test('are in the settings of the user, or where Claude Code has them', async () => {
    const user = (await planExtras(both, request(true)))?.file;
    expect(user).toBe(join(workspace.home, '.claude', 'settings.json'));
    vi.stubEnv('CLAUDE_CONFIG_DIR', join(workspace.home, 'other'));
    const other = (await planExtras(both, request(true)))?.file;
    expect(other).toBe(join(workspace.home, 'other', 'settings.json'));
  });

  test('are not offered again for one project', async () => {
    const text = await textWith();
    mkdirSync(join(workspace.home, '.claude'));
    settings(text, '../home/.claude/settings.json');
    expect(await missingExtras(request())).toEqual([]);
    expect(await missingExtras(request(true))).toEqual([]);
  });
});

describe('extras that are removed', () => {
  const removal = async () => (await planExtrasRemoval(request()))?.edit;

  test.each([
    '{"model": "m"}',
    '{\n  // mine\n  "model": "m"\n}\n',
    '{"hooks": {}}',
    '{"hooks": {"PostToolUse": []}}',
    '{"hooks": {"Stop": []}, "model": "m"}',
    '{"hooks": {"PostToolUse": [{"matcher": "x", "hooks": []}]}}'
  ])('leave the file as it was: %s', async (before) => {
    settings(before);
    settings(await textWith());
    expect(await removal()).toEqual({ change: 'update', text: before });
  });

  test('leave no file where none was', async () => {
    settings(await textWith());
    expect(await removal()).toEqual({ change: 'remove', text: undefined });
  });

  test('are ours alone, also after other changes of the file', async () => {
    settings({ model: 'm' });
    const { hooks, ...rest } = JSON.parse(await textWith());
    const mine = { type: 'command', command: 'mine' };
    hooks.PostToolUse[0].hooks.push(mine);
    settings({ ...rest, hooks, more: 1 });
    const { text = '' } = Object(await removal());
    expect(JSON.parse(text)).toMatchObject({
      ...{ model: 'm', more: 1 },
      hooks: { PostToolUse: [{ hooks: [mine] }] }
    });
    expect(text).not.toContain('statusLine');
  });

  test('are none in a file without them, without a file, and with commands of others', async () => {
    expect(await removal()).toBeUndefined();
    const others = ['notify --hook claude', 'x/statusline', 'my statusline'];
    const hooks = others.map((command) => ({ hooks: [{ command }] }));
    settings({
      statusLine: { command: 'my statusline' },
      hooks: { PostToolUse: [1, { hooks: 1 }, ...hooks] }
    });
    expect(await removal()).toBeUndefined();
  });

  test('from a file that cannot be read are a problem only if one is there', async () => {
    const path = settings('{');
    expect(await removal()).toBeUndefined();
    settings('{"statusLine": {"command": "node troupe.cjs statusline"}');
    expect(await removal()).toMatchObject({ entry: '' });
    expect(readFileSync(path, 'utf8')).toContain('statusline');
  });
});
