import { expect, test } from 'vitest';
import { alignedRows, table } from './table.ts';

test('what a cell holds stays on its line and steers nothing', () => {
  const hostile = 'a\u001b]0;title\u0007\nb\u009b2J';
  const color = (text: string) => `<${text}>`;
  expect(
    alignedRows(
      [{ heading: 'ONE' }, { heading: 'TWO' }],
      [[hostile, { text: hostile, color }]]
    )
  ).toBe('a ]0;title b 2J  <a ]0;title b 2J>\n');
});

test('a table may have more rows than a call has arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [`${index}`]);
  expect(table(['N'], rows)).toMatch(/\n199999\n$/);
});
