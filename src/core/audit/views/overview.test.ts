import { afterEach, expect, test } from 'vitest';
import { parseIac } from '../../../../test/kit/judges/iac-parser.ts';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import type { FileChange } from '../../changes/ports.ts';

const noon = new Date('2026-11-21T12:00:00Z');
const time = '2026-11-21 08:11:25';
const changes: FileChange[] = [
  { path: 'a.ts', added: 2, removed: 0, shared: true },
  { path: 'logo.png', added: null, removed: null }
];
let log: TestLog;

afterEach(() => log.workspace.remove());

test('IAC.md begins with a line for each agent, newest first', async () => {
  log = createLog();
  log.spawn(agentId(1), 'x', { task: 'Write tests', client: 'claude-code' });
  log.finish(agentId(1), 'Done.', {
    files_changed: changes,
    files_changed_total: 2
  });
  log.spawn(agentId(2), 'x', { task: 'Build it', parent: agentId(1) });
  const failure = { status: 'failed', error: 'It | broke.' } as const;
  log.finish(agentId(2), '', { ...failure, cost_usd: null });
  log.spawn(agentId(3), 'x', { task: 'Think', kind: 'api' });
  log.spawn(agentId(4), 'x', { task: 'Wait' });
  const queued = { agent_id: agentId(4), label: 'Claude', queued: true };
  const rest = { model: null, kind: 'cli', task: 'Wait' } as const;
  const created_at = '2026-11-21T08:11:25.000Z';

  await log.newView().render([{ ...queued, ...rest, created_at }], noon);

  expect(overview()).toEqual([
    `| ${time} | 00000004 | - | Claude | Wait | queued | - | - |`,
    `| ${time} | 00000003 | - | Claude | Think | running | - | - |`,
    `| ${time} | [00000002](agents/00000002.md) | agent 00000001 | Claude | Build it | failed: It ¦ broke. 12.3s | unknown | - |`,
    `| ${time} | [00000001](agents/00000001.md) | claude-code | Claude | Write tests | done 12.3s | $0.1235 | 2 (+2 −0, shared) |`
  ]);
  const { header } = parseIac(log.read('IAC.md'));
  expect(header.match(/^## .*/gm)).toEqual([
    '## Agents',
    '## Today',
    '## Active Agents'
  ]);
});

test('an entry names its client and sums up the changed files', async () => {
  log = createLog();
  log.spawn(agentId(1), 'x', { client: 'claude-code' });
  log.finish(agentId(1), 'y', {
    files_changed: changes,
    files_changed_total: 2
  });
  log.spawn(agentId(2), 'x');
  log.finish(agentId(2), 'y', {
    files_changed: changes,
    files_changed_total: 30
  });
  log.spawn(agentId(3), 'x');
  log.finish(agentId(3), 'y', {
    files_changed: [{ path: 'logo.png', added: null, removed: null }],
    files_changed_total: 1
  });
  await log.newView().render([], noon);

  const [third, second, first] = log.entries();
  expect(first?.facts).toEqual([
    '2026-11-21 08:11:25 UTC',
    'Tools: Bash, Read',
    'Access: full (no limit to enforce)',
    'from: claude-code',
    'files: 2 (+2 −0, shared)',
    '[Page](agents/00000001.md)'
  ]);
  // The journal has only the first files, so their lines are not the sum.
  expect(second?.facts.at(-2)).toBe('files: 30 (shared)');
  expect(third?.facts.at(-2)).toBe('files: 1 (binary)');
});

test('the table has the newest 50 agents and the number of earlier ones', async () => {
  log = createLog({ maximumEntries: 20 });
  log.run(0, 49);
  const view = log.newView();
  await view.render([], noon);
  expect(overview()).toHaveLength(49);
  expect(log.read('IAC.md')).not.toContain('earlier');

  log.run(49, 350);
  await view.render([], noon);
  const expected = Array.from({ length: 50 }, (_, row) => agentId(349 - row));
  const ids = () => overview().map((row) => /[0-9a-f]{8}/.exec(row)?.[0]);
  expect(ids()).toEqual(expected);
  expect(log.read('IAC.md')).toContain('\n… and 300 earlier ones\n');
  // Another server starts from the bookmark of the view.
  log.run(350, 351);
  await log.newView().render([], noon);
  expect(ids()).toEqual([agentId(350), ...expected.slice(0, -1)]);
  expect(log.everywhere()).toHaveLength(351);
});

test('no text in the table is taken for an entry or for another row', async () => {
  const hostile =
    '\u001b[2J\n### 🤖 x\n- [x] ✅ **Done** (1.0s) | `#deadbeef` | y\u202e';
  log = createLog();
  const names = { task: hostile, client: hostile, label: hostile };
  log.spawn(agentId(1), 'x', names);
  log.finish(agentId(1), '', { status: 'failed', error: hostile });
  await log.newView().render([], noon);

  expect(log.entries().map(({ id }) => id)).toEqual([agentId(1)]);
  const [row = '', ...others] = overview();
  expect(others).toEqual([]);
  expect(row.split(' | ')).toHaveLength(8);
  expect(row).not.toMatch(/[`<>\p{Cc}\p{Cf}]/u);
  expect(row).toContain('␛[2J');
});

test('an agent that was cleaned away has no link', async () => {
  log = createLog();
  log.run(1, 2);
  const completed_at = '2026-11-21T09:00:00.000Z';
  const agent_id = agentId(1);
  log.journal.append({ type: 'cleaned', agent_id, bytes: 1, completed_at });
  await log.newView().render([], noon);
  expect(overview()[0]).toContain('| 00000001 |');
});

/** The rows of the first table of IAC.md. */
function overview(): string[] {
  const { header } = parseIac(log.read('IAC.md'));
  const table = header.split('## Agents')[1]?.split('\n## ')[0] ?? '';
  return table.split('\n').filter((line) => /^\| (?!Time)/.test(line));
}
