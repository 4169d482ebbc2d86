import { expect, test } from 'vitest';
import { lineDiff } from './plan-report.ts';

test('a change is shown with the lines around it', () => {
  expect(lineDiff('a\nb\nc\nd\n', 'a\nb\nx\nd\n')).toEqual([
    ...['  a', '  b', '- c', '+ x', '  d']
  ]);
});

test('a long line is cut to the text around the change', () => {
  const [head, tail] = ['h'.repeat(90_000), 't'.repeat(90_000)];
  const shown = lineDiff(
    `${head}\n${head}${tail}\n`,
    `${head}\n${head}new${tail}\n`
  );
  const [before, after] = ['h'.repeat(60), 't'.repeat(60)];
  expect(shown).toEqual([
    `  ${before}…`,
    `- …${before}${after}…`,
    `+ …${before}new${after}…`
  ]);
});

test('a file that is added or removed is shown in full', () => {
  const line = 'x'.repeat(1000);
  expect(lineDiff('', line)).toEqual([`+ ${line}`]);
  expect(lineDiff(line, '')).toEqual([`- ${line}`]);
});
