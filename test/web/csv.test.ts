import { expect, test } from 'vitest';
import { csvOf } from '../../web/format.mjs';

test('a table is written as RFC 4180 has it', () => {
  expect(
    csvOf([
      ['Engine', 'Cost', 'Agents'],
      ['claude', 1.25, 3],
      ['says "hi", twice', null, 0],
      ['two\nlines', 0, 1]
    ])
  ).toBe(
    'Engine,Cost,Agents\r\nclaude,1.25,3\r\n"says ""hi"", twice",,0\r\n"two\nlines",0,1\r\n'
  );
});

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  [' =1', "' =1"],
  ['＝1', "'＝1"],
  ['=HYPERLINK("https://x","y")', `"'=HYPERLINK(""https://x"",""y"")"`],
  ['squad-1', 'squad-1'],
  ['a=b', 'a=b']
])('a text that a spreadsheet would run, %j, stays text', (text, cell) => {
  expect(csvOf([[text]])).toBe(`${cell}\r\n`);
});

test('a number stays a number', () => {
  expect(csvOf([[-1, 0.5]])).toBe('-1,0.5\r\n');
});
