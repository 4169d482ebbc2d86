import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../kit/agents/made-up-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import {
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../kit/workspaces/tmux-stage.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

let workspace: TempWorkspace;
let stage: TmuxStage | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  const people = [
    { daysAgo: 40, read: true, bytes: 3000, task: 'count the files' },
    {
      daysAgo: 20,
      read: true,
      bytes: 900_000,
      task: `find out why ${'the tests of the parser fail '.repeat(4)}`
    },
    { daysAgo: 10, bytes: 12_345, task: 'nobody asked' },
    { daysAgo: null }
  ];
  for (const [index, one] of people.entries())
    makeUp(workspace.record, { agent_id: idOf(index + 1), ...one });
});

afterEach(() => {
  stage?.stop();
  stage = undefined;
  workspace.remove();
});

const clean = (...args: string[]) => runCommand(workspace, ['clean', ...args]);

const isThere = (number: number) =>
  existsSync(join(workspace.record, 'spawns', idOf(number)));

/** Bytes of records differ by the length of paths and of process ids. */
const steady = (text: string) =>
  text.replace(/ (3\.[5-9]|4\.\d) KB/g, ' 4.0 KB');

test('without a word of what may go it shows what there is', async () => {
  const { code, stdout, stderr } = await clean();
  expect(code).toBe(0);
  expect(stdout.split('\n').map((line) => line.slice(10))).toEqual([
    ' COUNT  WHAT',
    '     1  agents at work',
    '     2  agents that ended and were read',
    '     1  agents that ended and are unread',
    '     0  agents that others need, or with a worktree',
    '     4  all agents (there is no diskLimitMegabytes)',
    '     0  patches of agents that were removed',
    '     0  workers that have ended',
    ''
  ]);
  expect(stderr).toContain('troupe clean --older-than 30d');
  const { stdout: json } = await clean('--json');
  expect(JSON.parse(json)).toMatchObject({
    at_work: { count: 1 },
    read: { count: 2 },
    unread: { count: 1 },
    agents: { count: 4 },
    disk_limit_bytes: null
  });
});

test('in a pipe nothing is cut, and times are whole', async () => {
  const { stdout, stderr } = await clean('--keep', '0', '--dry-run');
  const task = `find out why ${'the tests of the parser fail '.repeat(4)}`;
  const times = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
  expect(stdout.match(times)).toHaveLength(2);
  expect(steady(stdout).replaceAll(times, '(a time in full)        ')).toBe(
    `ID        ENGINE     ENDED                       SIZE  TASK
00000001  rehearsal  (a time in full)          4.0 KB  count the files
00000002  rehearsal  (a time in full)          880 KB  ${task.trim()}
`
  );
  expect(steady(stderr)).toBe(
    `troupe: would remove 2 agents (884 KB)
troupe: stay: 1 at work, 1 unread (name them to remove them)
`
  );
});

testTmux('on a terminal of 80 columns it fits, and asks first', async () => {
  stage = tmuxStage(80, 24);
  const { tmux } = stage;
  const shown = () => tmux('capture-pane', '-p', '-t', 'main').trimEnd();
  const { path, home } = workspace;
  const start = (answer: string) =>
    `cd '${path}' && HOME='${home}' NO_COLOR=1 '${process.execPath}' '${troupe}' clean --keep 0; echo ${answer}; exec cat`;
  tmux('respawn-pane', '-k', '-t', 'main', start('first over'));
  await until('the question', () => shown().includes('[y/N]'));
  expect(steady(shown()).split('\n')).toEqual([
    'ID        ENGINE     ENDED       SIZE  TASK',
    '00000001  rehearsal  40 d ago  4.0 KB  count the files',
    '00000002  rehearsal  20 d ago  880 KB  find out why the tests of the parser fai…',
    'Remove 2 agents (884 KB)? [y/N]'
  ]);
  tmux('send-keys', '-t', 'main', 'Enter');
  await until('its end', () => shown().includes('first over'));
  expect(shown()).toContain('troupe: nothing was removed');
  expect([1, 2, 3, 4].map(isThere)).toEqual([true, true, true, true]);
  tmux('respawn-pane', '-k', '-t', 'main', start('no answer'));
  await until('the question', () => shown().includes('[y/N]'));
  tmux('send-keys', '-t', 'main', 'C-d');
  await until('its end', () => shown().includes('no answer'));
  expect(shown()).toMatch(/\[y\/N\]\ntroupe: nothing was removed/);
  tmux('respawn-pane', '-k', '-t', 'main', start('second over'));
  await until('the question', () => shown().includes('[y/N]'));
  tmux('send-keys', '-t', 'main', 'y', 'Enter');
  await until('its end', () => shown().includes('second over'));
  expect(steady(shown())).toContain('troupe: removed 2 agents (884 KB)');
  expect([1, 2, 3, 4].map(isThere)).toEqual([false, false, true, true]);
});
