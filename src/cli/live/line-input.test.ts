import { expect, test } from 'vitest';
import { LineInput } from './line-input.ts';

function input(label = '') {
  const changes: string[] = [];
  const entered: string[] = [];
  const line = new LineInput({
    label,
    onChange: (text) => changes.push(text),
    onEnter: (text) => entered.push(text)
  });
  const keys = (...all: string[]) => all.map((key) => line.onKey(key));
  return { line, changes, entered, keys };
}

test('characters are added, the last one is removed, and Enter ends the line', () => {
  const { changes, entered, keys } = input();
  expect(keys('a', '🎉', 'backspace', 'b', 'up', 'enter')).toEqual([
    ...[false, false, false, false, false, true]
  ]);
  expect(changes).toEqual(['a', 'a🎉', 'a', 'ab']);
  expect(entered).toEqual(['ab']);
});

test('Escape drops the text and ends the line', () => {
  const { changes, entered, keys } = input();
  expect(keys('a', 'escape')).toEqual([false, true]);
  expect([changes, entered]).toEqual([['a', ''], []]);
});

test('pasted lines become one', () => {
  const { line, changes } = input();
  line.add('two\r\n  lines');
  expect(changes).toEqual(['two lines']);
});

test.each([
  ['abc', 20, 'in: abc_'],
  ['abc', 8, 'in: abc_'],
  ['abcd', 8, 'in: …cd_'],
  ['漢字', 8, 'in: …字_'],
  ['a\u0007', 20, 'in: a␇_'],
  ['', 20, 'in: _']
])('"%s" in %i columns is shown as "%s"', (text, columns, shown) => {
  const { line } = input('in: ');
  line.add(text);
  expect(line.render(columns)).toBe(shown);
});
