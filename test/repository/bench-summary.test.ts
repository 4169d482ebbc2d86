import { expect, test } from 'vitest';
import { fact, refusedIn, row, tableOf } from '../../bench/statistics.mjs';
import { summaryOf, updatedSummary } from '../../bench/summary.mjs';
import { updatedVerdict, verdictOn } from '../../bench/verdict.mjs';

const start = {
  title: 'Start-up, Node v20.1',
  rows: [
    row('answered', [26], {
      floor: [10],
      limit: 2.5,
      guard: 2.8,
      summary: 'start → answer'
    }),
    row('slow', [29], { floor: [10], limit: 2.5, guard: 2.8 }),
    fact('ahead of peers', true, '26 ms', {
      summary: 'ahead of peers',
      floor: '33 ms',
      reach: 'below'
    })
  ]
};
const memory = {
  title: 'Memory (idle)',
  rows: [
    row('idle', [48], {
      unit: 'MB',
      limit: 50,
      absolute: true,
      summary: 'memory, idle'
    })
  ]
};

test('a summary has one line for each row that asks for it, with a link', () => {
  expect(summaryOf([start, memory]).slice(2)).toEqual([
    '| start → answer | 10.0 ms | ≤ 2.5× | 2.60× (26.0 ms) | [**not reached**](#start-up-node-v201) |',
    '| ahead of peers | 33 ms | below | 26 ms | [reached](#start-up-node-v201) |',
    '| memory, idle | – | ≤ 50 MB | 48.0 MB | [reached](#memory-idle) |'
  ]);
});

test('new measurements replace their old lines', () => {
  const old = summaryOf([start, memory]);
  const anew = { ...start, rows: start.rows.slice(2) };
  expect(updatedSummary(old, [anew]).slice(2)).toEqual([old[3], old[4]]);
});

test('the list of what is not kept has new lines for new measurements alone', () => {
  const grown = { ...memory, rows: [fact('no growth', false, '9 MB')] };
  const old = verdictOn([start, grown]);
  const [, answered, slow, growth] = old;
  expect(old).toEqual([
    '**3 not kept:**',
    '- Start-up, Node v20.1: answered: 2.60×, limit 2.5×',
    '- Start-up, Node v20.1: slow: 2.90×, limit 2.5×',
    '- Memory (idle): no growth: 9 MB'
  ]);
  const text = ['- Load before: 1', '', ...old, ''].join('\n');
  const fewer = { ...start, rows: start.rows.slice(1) };
  expect(updatedVerdict(text, [fewer])).toEqual([
    ...['**2 not kept:**', slow, growth]
  ]);
  expect(updatedVerdict(text, [memory])).toEqual([
    ...['**2 not kept:**', answered, slow]
  ]);
  const fast = { ...start, rows: start.rows.slice(2) };
  expect(updatedVerdict(text, [fast, memory])).toEqual([
    'Every limit is kept.'
  ]);
});

test('a check refuses what passes its guard, not what misses its limit', () => {
  expect(refusedIn(start)).toEqual(['Start-up, Node v20.1: slow']);
});

test('a figure that could not be measured is refused', () => {
  const rows = [row('none', [], { limit: 1, absolute: true })];
  expect(refusedIn({ title: 'Nothing', rows })).toHaveLength(1);
});

test('a figure that was not measured does not prevent the table', () => {
  const rows = [row('by a peer that ended nothing', [])];
  const [report] = JSON.parse(JSON.stringify([{ title: 'Peers', rows }]));
  expect(tableOf(report)).toContain('| by a peer that ended nothing | 0 | –');
});
