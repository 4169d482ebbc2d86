import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test
} from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../../test/kit/agents/made-up-agents.ts';
import { openOffice } from '../../../../test/kit/agents/worker-office.ts';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { processLiveness } from '../../../adapters/child-process/processes.ts';
import { markProcess } from '../../../core/state/locks/process-marks.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const [old, young, unread, queued] = [1, 2, 3, 4].map((digit) =>
  idOf(0x11111111 * digit)
) as [string, string, string, string];
const all = [old, young, unread, queued];

function agent(agent_id: string, made: Partial<MadeUp> = {}): void {
  makeUp(workspace.record, { agent_id, daysAgo: 1, read: true, ...made });
}

beforeEach(() => {
  agent(old, { daysAgo: 30 });
  agent(young);
  agent(unread, { read: false, daysAgo: 30 });
  agent(queued, { daysAgo: null });
});

const clean = (...args: string[]) =>
  commandHere(workspace, ['clean', ...args, '--workspace', workspace.path]);

/** The agents whose folders are there. */
function there(): string[] {
  return all.filter((id) => existsSync(join(workspace.record, 'spawns', id)));
}

test('without a rule nothing is removed, even with --yes', async () => {
  for (const flags of [[], ['--yes']])
    expect((await clean(...flags)).code).toBe(0);
  expect(there()).toEqual(all);
});

test('in a pipe nothing is removed without --yes', async () => {
  const { code, stdout, stderr } = await clean('--older-than', '7d');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('nothing was removed. Add --yes');
  expect(there()).toEqual(all);
});

test('a dry run only shows what would be removed', async () => {
  const flags = ['--older-than', '7d', '--dry-run', '--yes'];
  const { code, stdout, stderr } = await clean(...flags);
  expect(code).toBe(0);
  expect(stdout).toContain(old);
  expect(stderr).toContain('would remove 1 agent');
  const { stdout: json } = await clean(...flags, '--json');
  expect(JSON.parse(json)).toMatchObject({
    dry_run: true,
    removed: [{ agent_id: old }]
  });
  expect(there()).toEqual(all);
});

test('old agents that were read are removed, others stay', async () => {
  const { code, stdout, stderr } = await clean('--older-than', '7d', '-y');
  expect(code).toBe(0);
  expect(stdout).toContain(old);
  expect(stderr).toContain('removed 1 agent');
  expect(there()).toEqual([young, unread, queued]);
  const again = await clean('--older-than', '7d');
  expect(again).toMatchObject({ code: 0, stdout: '' });
  expect(again.stderr).toContain('nothing to remove');
});

test('clean counts the agents that stay, and names those that it cannot judge', async () => {
  const foreign = idOf(0x66666666);
  symlinkSync(workspace.home, join(workspace.record, 'spawns', foreign));
  for (const flag of ['--dry-run', '--yes']) {
    const { stderr } = await clean('--keep', '0', flag);
    expect(stderr).toMatch(/stay: 1 at work, .*1 unread/);
    expect(stderr).toContain(`${foreign} stays: `);
    expect(stderr).toContain('is a link');
  }
});

test('an agent that cannot be removed stays, and clean exits with 1', async () => {
  agent(old, { daysAgo: 30, patch: 'a patch that is to be kept' });
  workspace.writeRecord('diffs', 'no directory');
  const { code, stderr } = await clean('--older-than', '7d', '--yes');
  expect(code).toBe(1);
  expect(stderr).toContain(`${old} stays: `);
  expect(stderr).toContain('removed 0 agents');
  expect(there()).toEqual(all);
  const json = await clean('--older-than', '7d', '--yes', '--json');
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ removed: [] });
});

test.each([
  [
    ['--keep', '0'],
    [unread, queued]
  ],
  [
    ['--keep', '1'],
    [unread, queued, young]
  ],
  [
    ['--max-size', '0B'],
    [unread, queued]
  ],
  [['--max-size', '1GB'], all],
  [['--older-than', '7d', '--keep', '9'], all]
])('%j leaves %j', async (flags, left) => {
  expect((await clean(...flags, '--yes')).code).toBe(0);
  expect(there().sort()).toEqual([...left].sort());
});

test('the rule of the configuration applies without flags', async () => {
  workspace.write('troupe.config.json', '{"retention": {"days": 7}}');
  await clean('--yes');
  expect(there()).toEqual([young, unread, queued]);
});

describe('a named agent', () => {
  test('is removed although it is unread', async () => {
    const { code } = await clean(unread, unread.slice(0, 4), '--yes');
    expect(code).toBe(0);
    expect(there()).toEqual([old, young, queued]);
  });

  test('that is queued is refused, and nothing is removed', async () => {
    const { code, stderr } = await clean(old, queued, '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain(`Agent ${queued} stays`);
    expect(there()).toEqual(all);
  });

  test('that is unknown is refused, and nothing is removed', async () => {
    const { code, stderr } = await clean(old, '5555555d', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('5555555d');
    expect(there()).toEqual(all);
  });

  test('is removed only together with the turns that continue it', async () => {
    const turn = { kind: 'api', session_id: 'one' } as const;
    agent(old, { ...turn, daysAgo: 30, toldSession: 'one' });
    agent(young, { ...turn, continues: old, toldSession: 'one' });
    const { code, stderr } = await clean(old, '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain(`Give all of them, also ${young}.`);
    expect(there()).toEqual(all);
    expect((await clean(old, young, '--yes')).code).toBe(0);
    expect(there()).toEqual([unread, queued]);
  });

  test.each([
    ['--older-than', '1d'],
    ['--keep', '1'],
    ['--max-size', '1GB']
  ])('is refused with %s %s', async (...flags) => {
    const { code, stderr } = await clean(old, ...flags, '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('whatever their age and size');
    expect(there()).toEqual(all);
  });
});

test('--workers removes the workers that have ended, and no others', async () => {
  const office = await openOffice();
  onTestFinished(() => office.close());
  const [ended, alive] = ['aaaaaaaa', 'bbbbbbbb'];
  for (const id of [ended, alive]) office.hire(id);
  const { signal } = new AbortController();
  await office.desk(ended).waitForCommand({ timeoutMs: 0, signal });
  office.lose(ended);
  const master = office.master();
  const { store } = master;
  await master.attend();
  const args = ['--workers', '--yes', '--workspace', office.workspace.path];
  const { code } = await commandHere(office.workspace, ['clean', ...args]);
  expect(code).toBe(0);
  expect(store.ids()).toEqual([alive]);
  expect(existsSync(store.folderOf(ended).private)).toBe(false);
});

describe('--orphans', () => {
  /** The record of another workspace, which is gone unless it is given. */
  function otherRecord(at = join(workspace.path, 'gone')): string {
    const name = '../other-0123456789ab';
    const facts = { v: 1, id: '0badcafe', workspace: at, formerly: [] };
    workspace.writeRecord(`${name}/spawns/x/result.txt`, 'x'.repeat(1000));
    workspace.writeRecord(`${name}/workspace.json`, JSON.stringify(facts));
    return join(workspace.record, name);
  }

  test.each([['1111'], ['--keep', '1'], ['--workers'], ['--older-than', '1d']])(
    'is refused together with %s',
    async (...args) => {
      const other = otherRecord();
      const { code, stderr } = await clean('--orphans', ...args, '--yes');
      expect(code).toBe(1);
      expect(stderr).toContain('--orphans removes whole records');
      expect(there()).toEqual(all);
      expect(existsSync(other)).toBe(true);
    }
  );

  test('removes the records of workspaces that are gone, and no agent', async () => {
    const other = otherRecord();
    const dry = await clean('--orphans', '--dry-run', '--json');
    expect(dry.code).toBe(0);
    expect(JSON.parse(dry.stdout)).toMatchObject({
      dry_run: true,
      orphans: [{ record: other, workspace: join(workspace.path, 'gone') }]
    });
    const { code, stderr } = await clean('--orphans');
    expect(code).toBe(1);
    expect(stderr).toContain('nothing was removed. Add --yes');
    expect(existsSync(other)).toBe(true);
    expect((await clean('--orphans', '--yes')).code).toBe(0);
    expect(existsSync(other)).toBe(false);
    expect(there()).toEqual(all);
  });

  test('leaves a record that a server works with, and says so', async () => {
    const other = otherRecord();
    const unmark = markProcess(join(other, 'servers'), processLiveness());
    onTestFinished(unmark);
    const { code, stderr } = await clean('--orphans', '--yes');
    expect(code).toBe(0);
    expect(stderr).toContain('stays: a server of troupe works with it');
    expect(existsSync(other)).toBe(true);
  });

  test('leaves the records of workspaces that are there', async () => {
    const other = otherRecord(workspace.home);
    const { code, stderr } = await clean('--orphans', '--yes');
    expect(code).toBe(0);
    expect(stderr).toContain('nothing to remove');
    expect(existsSync(other)).toBe(true);
  });
});
