import {
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { AuditViews } from './audit-views.ts';
import type { ActiveAgent } from './context-view.ts';

const secret = 'a-known-secret-value';
let log: TestLog;
let active: ActiveAgent[];
const onProblem = vi.fn();

beforeEach(() => {
  log = createLog({ secrets: [secret] });
  active = [];
  onProblem.mockClear();
});

afterEach(() => log.workspace.remove());

function createViews(
  agents: () => Promise<ActiveAgent[]> = async () => active
): AuditViews {
  return new AuditViews({
    journal: log.journal,
    paths: log.workspace.paths,
    identity: log.identity,
    pages: log.pages,
    maximumEntries: 200,
    maximumBytes: 4 * 1024 * 1024,
    redact: log.redact,
    active: agents,
    onProblem
  });
}

function agent(id: number, task: string, model: string | null = null) {
  return {
    agent_id: agentId(id),
    label: 'Claude',
    kind: 'cli' as const,
    model,
    task,
    created_at: '2026-11-21T08:11:25.000Z',
    queued: false
  };
}

function writtenAt(name: string): number {
  return statSync(join(log.logDirectory, name)).mtimeMs;
}

test('no view is written while there is nothing to show', async () => {
  await createViews().refresh();
  expect(() => log.read('IAC.md')).toThrow(/ENOENT/);
  expect(() => log.read('CONTEXT.md')).toThrow(/ENOENT/);
});

test('only one rendering runs at a time, however many are requested', async () => {
  let atWork = 0;
  let most = 0;
  log.spawn(agentId(1), 'x');
  const views = createViews(async () => {
    atWork += 1;
    most = Math.max(most, atWork);
    await new Promise((resolve) => setImmediate(resolve));
    atWork -= 1;
    return active;
  });
  await Promise.all([views.refresh(), views.refresh(), views.refresh()]);
  expect(most).toBe(1);
  expect(onProblem).not.toHaveBeenCalled();
});

test('CONTEXT.md and the header of IAC.md list the active agents', async () => {
  active = [
    agent(1, 'Write tests for the parser and for all of its callers too'),
    agent(2, 'a | b `c` <d>\n', 'opus')
  ];
  log.spawn(agentId(1), 'x');
  await createViews().refresh();

  const rows = [
    '| ID | Agent | Type | Model | Task | Started |',
    '|----|-------|------|-------|------|---------|',
    '| `00000001` | Claude | CLI | default | Write tests for the parser and for all of its cal… | 2026-11-21 08:11:25 |',
    "| `00000002` | Claude | CLI | opus | a ¦ b 'c' ‹d› | 2026-11-21 08:11:25 |"
  ].join('\n');
  expect(log.read('CONTEXT.md')).toContain(`## Active Agents\n\n${rows}\n\n`);
  expect(log.read('IAC.md')).toContain(`## Active Agents\n\n${rows}\n\n`);
});

test('an agent that waits for a slot is shown as queued, not running', async () => {
  active = [{ ...agent(1, 'x'), queued: true }];
  log.spawn(agentId(1), 'x');
  const views = createViews();
  await views.refresh();
  expect(log.read('IAC.md')).toContain('- [ ] ⏳ **Queued** | `#00000001`');
  expect(log.read('CONTEXT.md')).toContain('*No active agents*');

  active = [agent(1, 'x')];
  await views.refresh();
  expect(log.read('IAC.md')).toContain('- [ ] ⏳ **Running** | `#00000001`');
  expect(log.read('CONTEXT.md')).toContain('| `00000001` |');
});

test('an agent that asks is shown as asking, until it has its answer', async () => {
  log.spawn(agentId(1), 'x');
  const views = createViews();
  for (const asking of [false, true, false]) {
    active = [{ ...agent(1, 'x'), asking }];
    await views.refresh();
    const status = asking ? 'Asking' : 'Running';
    expect(log.read('IAC.md')).toContain(`**${status}** | \`#00000001\``);
    expect(log.read('CONTEXT.md').includes('(asking)')).toBe(asking);
  }
});

test('no secret of a task or model reaches the tables, not even cut', async () => {
  const { length } = secret;
  active = [
    agent(1, `key ${secret}`, secret),
    agent(2, `${' x'.repeat(22)} ${secret}`),
    agent(3, `ghp_${'a1'.repeat(30)} ${'y'.repeat(length)}`)
  ];
  log.spawn(agentId(1), 'x');
  await createViews().refresh();

  for (const name of ['CONTEXT.md', 'IAC.md'])
    expect(log.read(name)).not.toMatch(/a-k|ghp_/);
});

test('CONTEXT.md is rebuilt at a start even if IAC.md is up to date', async () => {
  log.spawn(agentId(1), 'x');
  log.finish(agentId(1), 'y');
  await createViews().refresh();
  const before = writtenAt('IAC.md');
  log.workspace.write('logs/CONTEXT.md', '| `00000001` | still there |');

  await createViews().refresh();

  expect(log.read('CONTEXT.md')).toContain('*No active agents*');
  expect(writtenAt('IAC.md')).toBe(before);
});

test.each([
  ['the journal and IAC.md are', ['IAC.md']],
  ['the journal is', []]
])('CONTEXT.md is rebuilt when %s missing', async (_, gone) => {
  active = [agent(1, 'x')];
  log.spawn(agentId(1), 'x');
  await createViews().refresh();
  for (const path of [
    log.path,
    ...gone.map((name) => join(log.logDirectory, name))
  ])
    rmSync(path);
  active = [];
  await createViews().refresh();
  for (const name of ['CONTEXT.md', 'IAC.md']) {
    expect(log.read(name)).toContain('*No active agents*');
    expect(log.read(name)).not.toContain(agentId(1));
  }
});

test('unchanged views are not written again', async () => {
  log.spawn(agentId(1), 'x');
  active = [agent(1, 'x')];
  const views = createViews();
  await views.refresh();
  const before = [writtenAt('IAC.md'), writtenAt('CONTEXT.md')];
  await views.refresh();
  expect([writtenAt('IAC.md'), writtenAt('CONTEXT.md')]).toEqual(before);

  active = [];
  await views.refresh();
  expect(log.read('CONTEXT.md')).toContain('*No active agents*');
});

test('an old view of another server is rendered again', async () => {
  log.spawn(agentId(1), 'x');
  const views = createViews();
  await views.refresh();
  const older = readFileSync(join(log.logDirectory, 'IAC.md'));
  log.finish(agentId(1), 'y');
  await views.refresh();
  log.workspace.write('logs/IAC.md', String(older));

  await views.refresh();

  expect(log.entries()).toMatchObject([{ word: 'Done' }]);
});

test('changes are batched and shown within a second', async () => {
  const views = createViews();
  for (let number = 0; number < 20; number += 1) {
    log.spawn(agentId(number), 'x');
    views.touch();
  }
  const path = join(log.logDirectory, 'IAC.md');
  await until('IAC.md', () => existsSync(path) || undefined, 1000);
  expect(log.entries()).toHaveLength(20);
});

test('a clock that was set back does not stop the rendering', async () => {
  const views = createViews();
  log.spawn(agentId(1), 'x');
  await views.refresh();
  const future = Date.now() / 1000 + 86_400;
  utimesSync(join(log.logDirectory, 'IAC.md'), future, future);
  log.finish(agentId(1), 'y');

  views.touch();

  await until('the end', () => log.entries()[0]?.done || undefined, 2000);
});

test('a failed rendering is reported, and the next one is tried', async () => {
  const views = createViews();
  log.spawn(agentId(1), 'x');
  log.workspace.write('logs', 'a file in the way');
  await views.refresh();
  expect(onProblem).toHaveBeenCalledTimes(1);

  rmSync(log.logDirectory);
  await views.refresh();

  expect(log.entries()).toHaveLength(1);
});

test('the first rendering of a new server removes agents that are gone', async () => {
  log.spawn(agentId(1), 'x');
  active = [agent(1, 'x')];
  await createViews().refresh();
  expect(log.read('IAC.md')).not.toContain('No active agents');
  active = [];
  // The agent is still being stopped, so the journal does not contain its end.
  await createViews().refresh();
  for (const name of ['IAC.md', 'CONTEXT.md'])
    expect(log.read(name)).toContain('No active agents');
});
