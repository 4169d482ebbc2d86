import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseIac } from '../../testing/iac-parser.ts';
import {
  agentId,
  archives,
  createLog,
  type TestLog
} from '../../testing/logged-agents.ts';

const noon = new Date('2026-11-21T12:00:00Z');
let log: TestLog;

afterEach(() => log.workspace.remove());

function run(from: number, to: number): void {
  for (let number = from; number < to; number += 1) {
    log.spawn(agentId(number), `task ${number}`, { task: `task ${number}` });
    log.finish(agentId(number), `answer ${number}`);
  }
}

/** Everything that is shown, by number, oldest first; fails on a repetition. */
function everywhere(): number[] {
  const ids = [...log.archived(), ...log.entries()].map(({ id }) =>
    Number.parseInt(id, 16)
  );
  return ids.sort((a, b) => a - b);
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

test('entries stand newest first, with what they were and how they ended', async () => {
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
    'Access: full (enforced)'
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
  'an agent that ended as %s says so and why',
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

test('IAC.md shows 200 entries, and each older one is in one archive file', async () => {
  log = createLog();
  const view = log.newView();
  for (const count of [150, 199, 201, 305, 317, 425]) {
    run(everywhereCount(), count);
    await view.render([], noon);
    expect(log.entries().length).toBe(Math.min(200, count));
    expect(everywhere()).toEqual(numbers(0, count));
  }
  expect(archives(log.logDirectory)).toEqual([
    'IAC-000001-000100.md',
    'IAC-000101-000200.md',
    'IAC-000201-000300.md'
  ]);
  expect(log.archived()[0]?.output?.text).toBe('answer 99');
});

function everywhereCount(): number {
  try {
    return everywhere().length;
  } catch {
    return 0;
  }
}

test('a view made anew goes on where the last one stopped', async () => {
  log = createLog({ maximumEntries: 10 });
  for (const count of [40, 130, 131, 260]) {
    run(everywhereCount(), count);
    await log.newView().render([], noon);
    expect(everywhere()).toEqual(numbers(0, count));
  }
});

test('two servers that take turns lose and repeat nothing', async () => {
  log = createLog({ maximumEntries: 10 });
  const views = [log.newView(), log.newView()];
  for (const count of [20, 55, 99, 100, 101, 230, 231, 320]) {
    run(everywhereCount(), count);
    await views[count % 2]?.render([], noon);
    expect(everywhere()).toEqual(numbers(0, count));
  }
});

test('a server that lags behind shows no archived entry again', async () => {
  log = createLog({ maximumEntries: 10 });
  const [ahead, behind] = [log.newView(), log.newView()];
  run(0, 30);
  await behind.render([], noon);
  run(30, 150);
  await ahead.render([], noon);
  run(150, 151);
  await Promise.all([behind.render([], noon), ahead.render([], noon)]);
  await ahead.render([], noon);

  expect(everywhere()).toEqual(numbers(0, 151));
});

test('more or fewer entries by configuration repeat nothing', async () => {
  log = createLog();
  let count = 0;
  for (const maximumEntries of [200, 20, 200, 60, 200]) {
    run(count, count + 120);
    count += 120;
    await log.newView({ maximumEntries }).render([], noon);
    expect(everywhere()).toEqual(numbers(0, count));
  }
});

test('an agent that ends after it was archived is corrected there', async () => {
  log = createLog({ maximumEntries: 5 });
  const view = log.newView();
  log.spawn(agentId(0), 'slow', { task: 'slow' });
  run(1, 30);
  await view.render([], noon);
  expect(log.archived().at(-1)).toMatchObject({ word: 'Running' });

  log.finish(agentId(0), 'at last');
  await view.render([], noon);

  expect(log.archived().at(-1)).toMatchObject({
    word: 'Done',
    output: { text: 'at last' }
  });
  expect(everywhere()).toEqual(numbers(0, 30));
});

test('it is corrected by another server too, however long ago it was', async () => {
  log = createLog({ maximumEntries: 5 });
  run(0, 50);
  log.spawn(agentId(50), 'slow', { task: 'slow' });
  run(51, 700);
  await log.newView().render([], noon);
  log.finish(agentId(50), 'at last');
  run(700, 701);

  await log.newView().render([], noon);

  const slow = log.archived().find(({ id }) => id === agentId(50));
  expect(slow).toMatchObject({ word: 'Done', output: { text: 'at last' } });
  expect(everywhere()).toEqual(numbers(0, 701));
});

test('IAC.md stays below its size, header included', async () => {
  const maximumBytes = 100_000;
  log = createLog({ maximumBytes });
  const view = log.newView();
  for (let number = 0; number < 30; number += 1) {
    log.spawn(agentId(number), 'p'.repeat(9000));
    log.finish(agentId(number), 'r'.repeat(9000));
    await view.render([], noon);
    const { size } = statSync(join(log.logDirectory, 'IAC.md'));
    expect(size).toBeLessThanOrEqual(maximumBytes);
  }
  expect(log.entries().length).toBe(5);
  expect(everywhere()).toEqual(numbers(0, 30));
});

test("today's totals count every agent of the day, archived or not", async () => {
  log = createLog({ maximumEntries: 5 });
  log.spawn(agentId(0), 'x', { created_at: '2026-11-20T23:59:59.999Z' });
  log.finish(agentId(0), 'y');
  run(1, 301);
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
    '| Codex | 2 | 13.3s | $0.5000 + 1 unknown |'
  ];
  const view = log.newView();

  await view.render([], noon);
  expect(tableRows()).toEqual(rows);
  // What has left memory still counts, and what comes again counts once.
  log.finish(agentId(401), 'y', { cost_usd: null });
  await view.render([], noon);
  expect(tableRows()).toEqual(rows);
  await log.newView().render([], noon);
  expect(tableRows()).toEqual(rows);
});

test('at midnight the totals begin anew', async () => {
  log = createLog();
  const view = log.newView();
  await view.render([], noon);
  run(0, 3);
  log.spawn(agentId(9), 'x', { created_at: '2026-11-22T00:00:01.000Z' });

  await view.render([], new Date('2026-11-22T00:00:02Z'));
  expect(tableRows()).toEqual(['| Claude | 1 | 0.0s | unknown |']);
  await view.render([], new Date('2026-11-23T00:00:02Z'));
  expect(tableRows()).toEqual(['| - | 0 | - | - |']);
});

function tableRows(): string[] {
  const { header } = parseIac(log.read('IAC.md'));
  const today = header.split('## Today')[1]?.split('## Active')[0] ?? '';
  return today.split('\n').filter((line) => /^\| (?!Engine)/.test(line));
}

test('without IAC.md everything is rendered from the journal again', async () => {
  log = createLog({ maximumEntries: 10 });
  run(0, 125);
  await log.newView().render([], noon);
  log.workspace.write('logs/IAC.md', 'somebody wrote over it');

  await log.newView().render([], noon);

  expect(everywhere()).toEqual(numbers(0, 125));
});

test('a journal that was replaced is shown from its beginning', async () => {
  log = createLog({ maximumEntries: 10 });
  const view = log.newView();
  run(0, 25);
  await view.render([], noon);
  log.workspace.write('logs/iac.jsonl', '');
  run(100, 103);

  await view.render([], noon);

  const ids = log.entries().map(({ id }) => Number.parseInt(id, 16));
  expect(ids).toEqual([102, 101, 100]);
});

test('a torn or foreign line in the journal costs no entry', async () => {
  log = createLog({ maximumEntries: 10 });
  run(0, 3);
  const torn = '\n{"writer":"aaaaaaaa","n":0,"type":"spawned","agent_id":"ff';
  appendFileSync(log.path, torn);
  await log.newView().render([], noon);
  run(3, 30);
  appendFileSync(log.path, `${torn}\n{"foreign":true}\n[1]\nnull\n\0\n`);
  run(30, 40);

  await log.newView().render([], noon);

  expect(everywhere()).toEqual(numbers(0, 40));
});
