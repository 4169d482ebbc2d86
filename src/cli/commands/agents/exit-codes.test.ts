import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../../test/kit/agents/made-up-agents.ts';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import { RunStore } from '../../../core/runs/run-store.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const done = idOf(0x11111111);
const failed = idOf(0x22222222);
const queued = idOf(0x33333333);
const unknown = '4444444d';

function agent(agent_id: string, made: Partial<MadeUp> = {}): void {
  makeUp(workspace.record, { agent_id, daysAgo: 1, ...made });
}

beforeEach(() => {
  agent(done, { text: 'the answer', isOpen: true });
  const outcome = {
    status: 'failed',
    error: 'It broke.',
    error_code: 'spawn_failed'
  } as const;
  agent(failed, { outcome, isOpen: true });
  agent(queued, { daysAgo: null });
});

const troupe = (...args: string[]) =>
  commandHere(workspace, [...args, '--workspace', workspace.path]);

async function json(...args: string[]) {
  const { code, stdout } = await troupe(...args, '--json');
  return { code, ...JSON.parse(stdout) };
}

function isRead(id: string): boolean {
  return wasRead(new RunStore(workspace.record).directoryOf(id));
}

describe('result', () => {
  test('of a completed agent exits with 0, prints its answer and marks it as read', async () => {
    expect(isRead(done)).toBe(false);
    expect(await troupe('result', done)).toEqual({
      code: 0,
      stdout: 'the answer\n',
      stderr: ''
    });
    expect(isRead(done)).toBe(true);
  });

  test('leaves out as many characters as --offset says', async () => {
    const { stdout } = await troupe('result', done, '--offset', '4');
    expect(stdout).toBe('answer\n');
  });

  test('of a failed agent exits with 2, and says why on stderr', async () => {
    const { code, stderr } = await troupe('result', failed);
    expect(code).toBe(2);
    expect(stderr).toContain('It broke. [spawn_failed]');
    expect(isRead(failed)).toBe(true);
    expect(await json('result', failed)).toMatchObject({
      code: 2,
      status: 'failed'
    });
  });

  test('of an agent that has not ended exits with 3, and leaves it unread', async () => {
    const { code, stdout, stderr } = await troupe('result', queued);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(`${queued} is queued.`);
    expect(isRead(queued)).toBe(false);
  });

  test('of an unknown agent exits with 1', async () => {
    const { code, stderr } = await troupe('result', unknown);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(unknown)
    });
    expect(await json('result', unknown)).toMatchObject({
      code: 1,
      agent_id: unknown,
      status: 'not_found'
    });
  });

  test.each(['1111', '#1111', '#11111111'])(
    'takes %s, the beginning of an id',
    async (typed) => {
      expect((await troupe('result', typed)).code).toBe(0);
    }
  );

  test('takes no beginning of three digits, or one of two ids', async () => {
    expect((await troupe('result', '111')).code).toBe(1);
    agent('1111000d');
    const { code, stderr } = await troupe('result', '1111');
    expect(code).toBe(1);
    expect(stderr).toContain('the beginning of 2 ids');
    expect((await troupe('result', '11111')).code).toBe(0);
  });
});

describe('wait', () => {
  test('for agents that completed exits with 0', async () => {
    const { code, stdout } = await troupe('wait', done);
    expect(code).toBe(0);
    expect(stdout).toContain(done);
    expect(isRead(done)).toBe(false);
  });

  test('for agents of which one failed exits with 2', async () => {
    expect((await troupe('wait', done, failed)).code).toBe(2);
  });

  test('exits with 3 when the time is up before all have ended', async () => {
    const found = await json('wait', done, queued, '--timeout', '0.01');
    expect(found).toMatchObject({
      code: 3,
      status: 'timeout',
      still_running: [queued]
    });
  });

  test('without ids waits for the active agents only', async () => {
    const found = await json('wait', '--timeout', '0.01');
    expect(found).toMatchObject({
      code: 3,
      still_running: [queued],
      results: []
    });
  });

  test('exits with 0 when nothing is running', async () => {
    await troupe('cancel', queued);
    const { code, stderr } = await troupe('wait');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'troupe: nothing is running\n'
    });
    expect((await json('wait')).status).toBe('no_agents_running');
  });

  test('for any exits at the first that has ended, with its code', async () => {
    expect(await json('wait', '--any', done, queued)).toMatchObject({
      code: 0,
      status: 'any_completed',
      still_running: [queued]
    });
    const { code } = await troupe('wait', '--any', failed, queued);
    expect(code).toBe(2);
  });

  test('with answers on stdout marks agents as read', async () => {
    expect(await json('wait', done, done)).toMatchObject({
      code: 0,
      status: 'all_completed',
      results: [{ agent_id: done, result: 'the answer' }]
    });
    expect(isRead(done)).toBe(true);
  });

  test('for an unknown agent exits with 1 at once', async () => {
    const { code, stderr } = await troupe('wait', queued, unknown);
    expect(code).toBe(1);
    expect(stderr).toContain(unknown);
  });
});

describe('cancel', () => {
  test('of an agent that has not ended ends it', async () => {
    const found = await json('cancel', queued, '--reason', 'enough');
    expect(found).toEqual({
      code: 0,
      agent_id: queued,
      status: 'canceled',
      message: 'It is canceled.'
    });
    expect((await troupe('result', queued)).code).toBe(2);
  });

  test('of an agent that has ended changes nothing', async () => {
    const { code, stdout } = await troupe('cancel', failed);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${failed} It had ended before (failed); nothing was changed.\n`
    });
  });

  test('of an unknown agent exits with 1', async () => {
    const { code, stdout, stderr } = await troupe('cancel', unknown);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('See: troupe list');
  });
});

describe('list', () => {
  test('shows active agents first, then those that ended', async () => {
    const { code, stdout } = await troupe('list');
    expect(code).toBe(0);
    expect(stdout.indexOf(queued)).toBeGreaterThan(0);
    expect(stdout.indexOf(done)).toBeGreaterThan(stdout.indexOf(queued));
  });

  test('has the same facts as JSON', async () => {
    expect(await json('list')).toMatchObject({
      code: 0,
      running: [],
      queued: [{ agent_id: queued, completed_at: null }],
      ended: expect.arrayContaining([
        expect.objectContaining({ agent_id: done, status: 'completed' }),
        expect.objectContaining({ agent_id: failed, error: 'It broke.' })
      ]),
      workers: [],
      faults: []
    });
  });

  test('shows no more of the ended agents than --limit says', async () => {
    const found = await json('list', '--limit', '1');
    expect(found.ended).toHaveLength(1);
    await troupe('cancel', queued);
    const { code, stderr } = await troupe('list', '--limit', '0');
    expect(code).toBe(0);
    expect(stderr).toContain('No agent is running.');
  });

  test('of a workspace without agents says how to start one', async () => {
    const other = createTempWorkspace();
    const { code, stderr } = await commandHere(other, [
      'list',
      '--workspace',
      other.path
    ]);
    other.remove();
    expect(code).toBe(0);
    expect(stderr).toContain('troupe run claude');
  });
});
