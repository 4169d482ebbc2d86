import { afterEach, expect, test } from 'vitest';
import { parseIac } from '../../../../test/kit/judges/iac-parser.ts';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { IacView } from './iac-view.ts';

const noon = new Date('2026-11-21T12:00:00Z');
let log: TestLog;

afterEach(() => log.workspace.remove());

test('entries are newest first, with their facts and their ends', async () => {
  log = createLog();
  log.spawn(agentId(1), 'Write tests\nfor it', { task: 'Write tests' });
  log.finish(agentId(1), 'Done.');
  log.spawn(agentId(2), 'Think', { model: null, tools: null, kind: 'api' });

  await log.newView().render([], noon);

  const [second, first] = log.entries();
  expect(first).toMatchObject({
    title: 'Write tests',
    done: true,
    word: 'Done',
    seconds: '12.3',
    cost: '0.1235',
    id: '00000001',
    engine: 'Claude (sonnet) [CLI]',
    input: { chars: 18, text: 'Write tests\nfor it' },
    output: { chars: 5, text: 'Done.' }
  });
  expect(first?.facts).toEqual([
    '2026-11-21 08:11:25 UTC',
    'Tools: Bash, Read',
    'Access: full (no limit to enforce)',
    '[Page](agents/00000001.md)'
  ]);
  expect(second).toMatchObject({
    done: false,
    word: 'Running',
    engine: 'Claude (default) [API]',
    output: undefined
  });
});

test.each([
  ['failed', 'Failed'],
  ['timeout', 'Timed out'],
  ['canceled', 'Canceled'],
  ['interrupted', 'Interrupted']
] as const)(
  'an agent that ended as %s shows the status and the reason',
  async (status, word) => {
    log = createLog();
    log.spawn(agentId(1), 'x');
    log.finish(agentId(1), '', { status, error: 'It broke.', cost_usd: null });

    await log.newView().render([], noon);

    expect(log.entries()[0]).toMatchObject({
      done: true,
      word,
      error: 'It broke.',
      cost: undefined,
      output: undefined
    });
  }
);

test('the totals of today count every agent of the day, archived or not', async () => {
  log = createLog({ maximumEntries: 5 });
  log.spawn(agentId(0), 'x', { created_at: '2026-11-20T23:59:59.999Z' });
  log.finish(agentId(0), 'y');
  log.run(1, 301);
  log.spawn(agentId(400), 'x', { label: 'Grok' });
  log.spawn(agentId(401), 'x', { label: 'Mistral' });
  log.finish(agentId(401), 'y', { cost_usd: null });
  log.spawn(agentId(402), 'x', { label: 'Codex' });
  log.finish(agentId(402), 'y', { cost_usd: null });
  log.spawn(agentId(403), 'x', { label: 'Codex' });
  log.finish(agentId(403), 'y', { cost_usd: 0.5, duration_ms: 1000 });
  const rows = [
    '| Claude | 300 | 3703.5s | $37.0350 |',
    '| Grok | 1 | 0.0s | unknown |',
    '| Mistral | 1 | 12.3s | unknown |',
    '| Codex | 2 | 13.3s | $0.5000 (unknown for 1 of 2) |'
  ];
  const view = log.newView();

  await view.render([], noon);
  expect(tableRows()).toEqual(rows);
  // Dropped entries still count, and repeated records count once.
  log.finish(agentId(401), 'y', { cost_usd: null });
  await view.render([], noon);
  expect(tableRows()).toEqual(rows);
  await log.newView().render([], noon);
  expect(tableRows()).toEqual(rows);
});

test('the totals start again at midnight', async () => {
  log = createLog();
  const view = log.newView();
  await view.render([], noon);
  log.run(0, 3);
  log.spawn(agentId(9), 'x', { created_at: '2026-11-22T00:00:01.000Z' });

  await view.render([], new Date('2026-11-22T00:00:02Z'));
  expect(tableRows()).toEqual(['| Claude | 1 | 0.0s | unknown |']);
  await view.render([], new Date('2026-11-23T00:00:02Z'));
  expect(tableRows()).toEqual(['| - | 0 | - | - |']);
});

test('an archived entry is rendered once, though its file grows', async () => {
  log = createLog();
  const { workspace, identity, pages } = log;
  let renderings = 0;
  const view = new IacView({
    ...{ paths: workspace.paths, identity, pages },
    ...{ maximumEntries: 5, maximumBytes: 1024 * 1024 },
    redact: (text, from, to) => {
      renderings += 1;
      return text.slice(from, to);
    }
  });
  // The text is long, so the rendering reads it from its file.
  log.spawn(agentId(0), 'Much. '.repeat(5000));
  log.finish(agentId(0), 'Done.');
  log.run(1, 9);
  await view.render([], noon);
  expect(renderings).toBeGreaterThan(0);
  renderings = 0;
  log.run(9, 10);
  await view.render([], noon);
  const numbers = log.archived().map(({ id }) => id);
  expect(numbers.sort()).toEqual([0, 1, 2, 3, 4].map(agentId));
  expect(renderings).toBe(0);
});

function tableRows(): string[] {
  const { header } = parseIac(log.read('IAC.md'));
  const today = header.split('## Today')[1]?.split('## Active')[0] ?? '';
  return today.split('\n').filter((line) => /^\| (?!Engine)/.test(line));
}
