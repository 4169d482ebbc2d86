import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  idOf,
  makeUp,
  ownProcess
} from '../../../../test/kit/agents/made-up-agents.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { createAsk, createAskFolder } from '../../../core/asks/ask-files.ts';

const [done, failed, damaged, queued] = [1, 2, 3, 4].map((digit) =>
  idOf(0x11111111 * digit)
) as [string, string, string, string];

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const { record } = workspace;
  makeUp(record, { agent_id: done, daysAgo: 1, text: 'the answer' });
  const outcome = { status: 'failed', error: 'It broke.' } as const;
  makeUp(record, { agent_id: failed, daysAgo: 1, outcome });
  const directory = makeUp(record, { agent_id: damaged, daysAgo: 1 });
  writeFileSync(join(directory, 'outcome.json'), 'spilt');
  makeUp(record, { agent_id: queued, daysAgo: null, ask: 'coordinator' });
});

const wait = (args: string[], env: Record<string, string> = {}) =>
  commandHere(workspace, ['wait', ...args, '--workspace', workspace.path], env);

const folder = (id: string) => join(workspace.record, 'spawns', id);

test.each<[string, string[], number]>([
  ['with 1', [damaged], 1],
  ['with 1, next to one that completed', [done, damaged], 1],
  ['with 2, next to one that failed', [failed, damaged], 2],
  [
    'with 3, next to one that goes on',
    [damaged, queued, '--timeout', '0.1'],
    3
  ],
  ['with 0 once another one is enough', ['--any', done, damaged], 0]
])('a wait for an agent with damaged files exits %s', async (_, args, code) => {
  const { code: found, stderr } = await wait(args);
  expect(found).toBe(code);
  expect(stderr).toContain(join(folder(damaged), 'outcome.json'));
});

test('a wait for an agent whose folder is removed meanwhile exits with 1, and says so', async () => {
  const args = [done, queued, '--timeout', '2', '--json'];
  const waiting = wait(args);
  await until('the wait', () => {
    const { write } = process.stderr;
    return vi.isMockFunction(write) && /waiting/.test(String(write.mock.calls));
  });
  rmSync(folder(queued), { recursive: true });
  const { code, stdout, stderr } = await waiting;
  const message = `The folder of agent ${queued} in the record was removed before it had ended; the server that started it ends it now.`;
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'agents_lost',
    results: [{ agent_id: done }],
    lost: [{ agent_id: queued, message }]
  });
});

test('a wait ends with 3 as soon as an agent asks, and shows the ask', async () => {
  const now = Date.now();
  createAskFolder(folder(queued));
  const { ask_id } = createAsk(folder(queued), {
    ...{ agent_id: queued, kind: 'permission', tool: 'Bash' },
    ...{ subject: { command: 'make all' }, needs: 'full' },
    bridge: ownProcess,
    asked_at: new Date(now).toISOString(),
    expires_at: new Date(now + 600_000).toISOString()
  });
  const { code, stdout } = await wait([done, queued]);
  expect(code).toBe(3);
  expect(stdout).toContain(ask_id);
  expect(stdout).toContain('make all');
  const json = await wait([done, queued, '--json']);
  expect(json.code).toBe(3);
  expect(JSON.parse(json.stdout)).toMatchObject({
    status: 'needs_answer',
    asks: [{ ask_id }],
    still_running: [queued]
  });
  const any = await wait(['--any', done, queued, '--json']);
  expect(any.code).toBe(0);
  expect(JSON.parse(any.stdout).status).toBe('any_completed');
});

test('an agent that waits for itself is refused with 1, and without ids waits for nothing', async () => {
  const own = { TROUPE_AGENT_ID: queued, TROUPE_DEPTH: '1' };
  const { code, stderr } = await wait([queued], own);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(`Agent ${queued} is the caller`)
  });
  expect(await wait([], own)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('nothing is running')
  });
});
