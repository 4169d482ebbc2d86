import { appendFileSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  type HostHere,
  hireWorker,
  hostHere
} from '../../../../test/kit/servers/host-here.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import { claimNeverStarts } from '../../../core/runs/run-files.ts';
import { type Changes, Live, topicsIn } from './live.ts';

const id = idOf(0x11111111);

let here: HostHere;
let live: Live;
let problems: unknown[];

beforeEach(async () => {
  here = await hostHere();
  problems = [];
  live = new Live(here.host, (problem) => problems.push(problem));
});

/** A reader that remembers everything it is sent. */
function reader(...topics: string[]) {
  const known = new Map(topics.map((topic) => [topic, 0]));
  const seen: Changes[] = [];
  const unsubscribe = live.subscribe(topics, () => {
    const changes = live.since(known);
    if (!changes) return;
    for (const topic of topics) known.set(topic, live.rev);
    seen.push(changes);
  });
  onTestFinished(unsubscribe);
  const sent = (count: number) =>
    until(`change ${count}`, () => seen.length >= count || undefined);
  return { seen, sent, unsubscribe };
}

describe('a reader of the board', () => {
  test('gets all rows, and then the changed ones', async () => {
    const { seen, sent } = reader('board');
    await sent(1);
    expect(seen[0]).toMatchObject({
      board: { isAll: true, rows: [{ id: 'totals', is_unused: true }] }
    });
    makeUp(here.workspace.record, { agent_id: id, daysAgo: null });
    live.hurry();
    await sent(2);
    const { rows } = Object(seen[1]).board;
    expect(rows.map((row: { id: string }) => row.id)).toContain(`agent:${id}`);
    expect(problems).toEqual([]);
  });

  test('gets another stamp when the council has changed', async () => {
    const { seen, sent } = reader('board');
    const stamps = () => Object(seen.at(-1)).board.rows[0].stamps;
    await sent(1);
    expect(stamps().council).toBe('');
    await here.host.council.start('claude', 'Which?');
    live.hurry();
    await sent(2);
    expect(stamps().council).toMatch(/^\S+ \d+$/);
  });

  test('is sent nothing when nothing has changed', async () => {
    const { seen, sent } = reader('board');
    await sent(1);
    const { rev } = live;
    live.hurry();
    makeUp(here.workspace.record, { agent_id: id, daysAgo: null });
    live.hurry();
    await sent(2);
    expect(live.rev).toBeGreaterThan(rev);
    expect(seen).toHaveLength(2);
  });
});

describe('a reader of an agent', () => {
  test('gets its output as it grows, without being asked to', async () => {
    const made = { agent_id: id, daysAgo: null };
    const stdout = join(makeUp(here.workspace.record, made), 'stdout');
    const { seen, sent } = reader(`agent:${id}`);
    appendFileSync(stdout, '{"type": "progress", "text": "one"}\n');
    await sent(1);
    expect(seen[0]).toMatchObject({ [`agent:${id}`]: { steps: ['one'] } });
  });
});

test('without a reader nothing is known, and the next one gets everything', async () => {
  const first = reader('board', `agent:${id}`);
  await first.sent(1);
  expect(live.since(new Map([['board', 0]]))).toBeDefined();
  first.unsubscribe();
  expect(live.since(new Map([['board', 0]]))).toBeUndefined();
  const second = reader('board');
  await second.sent(1);
  expect(second.seen[0]).toMatchObject({ board: { isAll: true } });
});

test('a topic that no reader wants any more has nothing to send', async () => {
  const made = { agent_id: id, daysAgo: null };
  const stdout = join(makeUp(here.workspace.record, made), 'stdout');
  appendFileSync(stdout, '{"type": "progress", "text": "one"}\n');
  const one = reader('board');
  const other = reader(`agent:${id}`);
  await Promise.all([one.sent(1), other.sent(1)]);
  const known = new Map([[`agent:${id}`, 0]]);
  expect(live.since(known)).toBeDefined();
  other.unsubscribe();
  expect(live.since(known)).toBeUndefined();
});

test('a server whose page starts an agent enforces the limits of its agents', () => {
  const { servers } = here.host.paths;
  expect(existsSync(servers)).toBe(false);
  live.own();
  live.own();
  expect(readdirSync(servers)).toContain(`${process.pid}`);
});

describe('the crash of a worker', () => {
  async function crashed(): Promise<Worker> {
    const worker = hireWorker(here, 'aaaaaaaa');
    const { folder, log } = worker;
    await log.change(() => ({
      events: [{ type: 'ready', by: 'troupe' }],
      result: undefined
    }));
    claimNeverStarts(folder.start(1));
    return worker;
  }

  test('is not recorded by a page that only looks', async () => {
    const { log } = await crashed();
    const { sent } = reader('board');
    await sent(1);
    // The page finds this when it reads everything again, about a second later.
    makeUp(here.workspace.record, { agent_id: id, daysAgo: null });
    await sent(2);
    expect(log.read().status).toBe('ready');
  });

  test('is recorded once the page has given a worker something to do', async () => {
    const { folder, log } = await crashed();
    live.ownWorkers();
    reader('board');
    await until('its record', () => !existsSync(folder.request));
    expect(log.read().status).toBe('crashed');
  });
});

test.each([
  ['', []],
  ['board', ['board']],
  [`agent:${id},board,board`, [`agent:${id}`, 'board']],
  [`agents:${id},agent:x,agent:,boards`, []]
])('the topics of "%s" are known ones', (text, topics) => {
  expect(topicsIn(text)).toEqual(topics);
});

test('a reader has fifty topics at most', () => {
  const all = Array.from({ length: 51 }, (_, n) => `agent:${idOf(n)}`);
  expect(topicsIn(all.join(','))).toEqual(all.slice(0, 50));
});
