import { expect, test } from 'vitest';
import { csvOf } from '../../web/format.mjs';

test('a table is written as RFC 4180 has it, with quoted texts and the mark of UTF-8', () => {
  expect(
    csvOf([
      ['Engine', 'Cost', 'Agents'],
      ['claude', 1.25, 3],
      ['says "hi", twice', null, 0],
      ['two\nlines', 0, 1]
    ])
  ).toBe(
    '\ufeff"Engine","Cost","Agents"\r\n"claude",1.25,3\r\n"says ""hi"", twice",,0\r\n"two\nlines",0,1\r\n'
  );
});

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', "'\r=1"],
  [' =1', "' =1"],
  ['＝1', "'＝1"],
  ['\u200b=1', "'\u200b=1"],
  ['\u00ad=1', "'\u00ad=1"],
  ['\ufeff=1', "'\ufeff=1"],
  ['\u202e \u200f@x', "'\u202e \u200f@x"],
  ['=HYPERLINK("https://x","y")', `'=HYPERLINK(""https://x"",""y"")`],
  ['squad-1', 'squad-1'],
  ['a=b', 'a=b'],
  ['a;=1+1', 'a;=1+1']
])('a text that a spreadsheet would run, %j, stays text', (text, cell) => {
  expect(csvOf([[text]])).toBe(`\ufeff"${cell}"\r\n`);
});

test('a number stays a number', () => {
  expect(csvOf([[-1, 0.5]])).toBe('\ufeff-1,0.5\r\n');
});
