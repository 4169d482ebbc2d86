import { existsSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, type MadeUp, makeUp } from '../../kit/agents/made-up-agents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const clean = (...args: string[]) => runCommand(workspace, ['clean', ...args]);

const place = (name: string) => join(workspace.record, name);

function agent(number: number, more: Omit<MadeUp, 'agent_id'>): string {
  const id = idOf(number);
  makeUp(workspace.record, { agent_id: id, ...more });
  return id;
}

/** So many agents that were read; the first one ended longest ago. */
function agents(count: number, bytes = 100): string[] {
  return Array.from({ length: count }, (_, index) =>
    agent(index + 1, { daysAgo: 10 * (count - index), read: true, bytes })
  );
}

const there = () => readdirSync(place('spawns')).sort();

describe('which agents go', () => {
  test.each([
    ['--older-than 25d', [2, 3]],
    ['--older-than 3w', [2, 3]],
    ['--older-than 481h', [2, 3]],
    ['--keep 1', [3]],
    ['--keep 0', []],
    ['--max-size 2KB', [3]],
    ['--older-than 15d --keep 2', [2, 3]],
    ['--older-than 25d --max-size 2KB', [3]],
    ['--older-than 90d', [1, 2, 3]]
  ])('with %s, the ones that ended first', async (flags, left) => {
    agents(3, 1000);
    const { code } = await clean(...flags.split(' '), '--yes');
    expect(code).toBe(0);
    expect(there()).toEqual(left.map(idOf));
  });

  test('is what the configuration says when no flag does', async () => {
    agents(3);
    workspace.write('.trouperc.json', '{"retention": {"days": 25}}');
    await clean('--yes');
    expect(there()).toEqual([2, 3].map(idOf));
    await clean('--keep', '1', '--yes');
    expect(there()).toEqual([3].map(idOf));
  });

  test('none whose end the clock puts into the future', async () => {
    agent(1, { daysAgo: -3, read: true });
    await clean('--older-than', '1s', '--yes');
    expect(there()).toEqual([idOf(1)]);
    await clean('--older-than', '0s', '--yes');
    expect(there()).toEqual([]);
  });

  test('neither running nor unread ones', async () => {
    agent(1, { daysAgo: null });
    agent(2, { daysAgo: 50 });
    const { stderr } = await clean('--keep', '0', '--yes');
    expect(there()).toEqual([1, 2].map(idOf));
    expect(stderr).toContain('nothing to remove');
    expect(stderr).toContain(
      'stay: 1 at work, 1 unread (name them to remove them)'
    );
  });

  test('a named one, also unread, with a note', async () => {
    agent(1, { daysAgo: 1, task: 'count the files' });
    agent(2, { daysAgo: 1 });
    const { stdout } = await clean(idOf(1), '--yes');
    expect(stdout).toContain('(unread) count the files');
    expect(there()).toEqual([idOf(2)]);
  });

  test.each([
    ['of another workspace', 9, 'There is no agent "00000009"'],
    ['at work', 1, 'Agent 00000001 stays: it is running or queued']
  ])('none at all when one is named that is %s', async (_, number, words) => {
    agent(1, { daysAgo: null });
    agent(2, { daysAgo: 1, read: true });
    const { code, stderr } = await clean(idOf(2), idOf(number), '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain(words);
    expect(there()).toEqual([1, 2].map(idOf));
  });

  test('no turn of an API session while another one stays', async () => {
    const api = { kind: 'api', engine: 'grok', toldSession: idOf(1) } as const;
    const session_id = idOf(1);
    agent(1, { ...api, session_id, daysAgo: 9, read: true });
    agent(2, { ...api, session_id, daysAgo: 8, continues: idOf(1) });
    const { stderr } = await clean('--keep', '0', '--yes');
    expect(there()).toEqual([1, 2].map(idOf));
    expect(stderr).toContain('1 whose session others continue');
    const named = await clean(idOf(2), '--yes');
    expect(named.code).toBe(1);
    expect(named.stderr).toContain(`Give all of them, also ${idOf(1)}.`);
    await clean(idOf(2), idOf(1), '--yes');
    expect(there()).toEqual([]);
  });

  test('none whose worktree is there, and says which', async () => {
    const path = join(workspace.paths.shared.worktrees, '00000001');
    const worktree = { path, branch: 'b', base: 'c', origin: '/' };
    agent(1, { daysAgo: 9, read: true, worktree });
    workspace.write('.agents/worktrees/00000001/work.txt', 'x');
    const { stderr } = await clean('--keep', '0', '--yes');
    expect(there()).toEqual([idOf(1)]);
    expect(stderr).toContain(
      `00000001 stays: its worktree may hold work (${path})`
    );
    expect((await clean(idOf(1), '--yes')).code).toBe(1);
    expect(existsSync(join(path, 'work.txt'))).toBe(true);
  });

  test('none behind a link, which stays, too', async () => {
    const [id = ''] = agents(1);
    const elsewhere = join(workspace.home, 'elsewhere');
    renameSync(place(`spawns/${id}`), elsewhere);
    symlinkSync(elsewhere, place(`spawns/${id}`));
    const { stderr } = await clean('--keep', '0', '--yes');
    expect(stderr).toContain(`${id} stays: ${place(`spawns/${id}`)} is a link`);
    expect(readdirSync(elsewhere)).toContain('record.json');
    expect(there()).toEqual([id]);
    renameSync(place('spawns'), join(workspace.home, 'spawns'));
    symlinkSync(join(workspace.home, 'spawns'), place('spawns'));
    const whole = await clean('--keep', '0', '--yes');
    expect(whole.code).toBe(1);
    expect(whole.stderr).toContain('spawns is a symbolic link');
  });
});

describe('before anything goes', () => {
  test('a pipe has to say --yes', async () => {
    agents(2);
    const { code, stderr } = await clean('--keep', '0');
    expect(code).toBe(1);
    expect(stderr).toContain('That would remove 2 agents');
    expect(there()).toHaveLength(2);
  });

  test('--dry-run shows it', async () => {
    agents(2);
    const { code, stdout, stderr } = await clean('--keep', '1', '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain(idOf(1));
    expect(stderr).toContain('would remove 1 agent');
    expect(there()).toHaveLength(2);
    const { stdout: json } = await clean(
      ...['--keep', '1', '--dry-run', '--json']
    );
    expect(JSON.parse(json)).toMatchObject({
      dry_run: true,
      removed: [{ agent_id: idOf(1), read: true }],
      stay: { retained: 1, unread: 0 }
    });
    expect(there()).toHaveLength(2);
  });

  test.each([
    ['--older-than 30', 'Give a number and a unit: 30d, 12h'],
    ['--max-size 2', 'Give a number and a unit: 2GB'],
    ['--keep some', 'Give a whole number'],
    ['00000001 --keep 1', 'Agents given by id are removed whatever']
  ])('%s is refused', async (flags, words) => {
    agents(1);
    const { code, stderr } = await clean(...flags.split(' '), '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain(words);
    expect(there()).toHaveLength(1);
  });
});
