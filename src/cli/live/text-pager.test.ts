import { beforeEach, describe, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../test/kit/agents/made-up-agents.ts';
import { hostHere } from '../../../test/kit/servers/host-here.ts';
import { watchedRun } from '../../interfaces/board/watched-agent.ts';
import { moved, TextPager, type TitledText, windowOf } from './text-pager.ts';

let shown: TitledText | Error;
let pager: TextPager;

const lines = (count: number) =>
  Array.from({ length: count }, (_, n) => `line ${n + 1}`).join('\n');

beforeEach(() => {
  shown = { title: 'A\ntitle', text: lines(10) };
});

/** With room for four lines. */
const size = { columns: 40, rows: 6 };
const visible = () => pager.render(size).slice(2);

async function open(isFollowing = false): Promise<void> {
  const { workspace, host } = await hostHere();
  makeUp(workspace.record, { agent_id: idOf(1), daysAgo: 1 });
  const run = await host.tracker.run(idOf(1));
  if (!run) throw new Error('There is no such agent.');
  const agent = await watchedRun(host, run);
  const read = async () => {
    if (shown instanceof Error) throw shown;
    return shown;
  };
  pager = new TextPager({ agent, read }, isFollowing);
  await pager.refresh();
}

describe('a pager', () => {
  test('shows the title and the first lines, and moves within the text', async () => {
    await open();
    expect(pager.render(size).slice(0, 3)).toEqual(['A title', '', 'line 1']);
    expect(pager.position).toBe('1-4 of 10');
    expect(pager.onKey('down')).toBe(true);
    expect(visible()).toEqual(['line 2', 'line 3', 'line 4', 'line 5']);
    pager.onKey('end');
    expect(visible().at(-1)).toBe('line 10');
    expect(pager.position).toBe('7-10 of 10');
    pager.onKey('down');
    expect(pager.position).toBe('7-10 of 10');
    pager.onKey('page-up');
    expect(pager.position).toBe('3-6 of 10');
    pager.onKey('home');
    pager.onKey('up');
    expect(pager.position).toBe('1-4 of 10');
    expect(pager.onKey('q')).toBe(false);
  });

  test('follows the end until it is scrolled back', async () => {
    await open(true);
    expect(visible().at(-1)).toBe('line 10');
    shown = { title: 'x', text: lines(12) };
    await pager.refresh();
    expect(visible().at(-1)).toBe('line 12');
    pager.onKey('down');
    expect(pager.isFollowing).toBe(true);
    pager.onKey('up');
    expect(pager.isFollowing).toBe(false);
    shown = { title: 'x', text: lines(20) };
    await pager.refresh();
    expect(visible()[0]).toBe('line 8');
  });

  test('stays within a text that becomes shorter, and shows an error', async () => {
    await open();
    visible();
    pager.onKey('end');
    shown = { title: 'x', text: 'short' };
    await pager.refresh();
    expect(visible()).toEqual(['short']);
    expect(pager.position).toBe('1-1 of 1');
    shown = new Error('It broke.');
    await pager.refresh();
    expect(visible().join(' ')).toContain('It broke.');
  });

  test('colors its lines, and makes control characters visible', async () => {
    const color = (line: string) => `<${line}>`;
    shown = { title: 'x', text: 'a\u0007', color };
    await open();
    expect(visible()).toEqual(['<a␇>']);
  });
});

test.each([
  ['k', 4],
  ['j', 6],
  ['b', -5],
  [' ', 15],
  ['g', 0],
  ['G', Number.MAX_SAFE_INTEGER],
  ['x', undefined]
])('the key %j moves from 5 to %s', (key, index) => {
  expect(moved(key, 5, 10)).toBe(index);
});

test.each([
  [0, 0, 4, 10, 0],
  [4, 0, 4, 10, 1],
  [3, 0, 4, 10, 0],
  [2, 5, 4, 10, 2],
  [9, 0, 4, 10, 6],
  [0, 3, 4, 2, 0],
  [-1, 0, 4, 0, 0]
])('the window of row %i from %i in %i of %i begins at %i', (...all) => {
  const [index, top, room, count, first] = all;
  expect(windowOf(index, top, room, count)).toBe(first);
});
