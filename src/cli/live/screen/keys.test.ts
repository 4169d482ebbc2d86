import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { KeyReader, keysIn } from './keys.ts';

test.each([
  ['q', ['q']],
  ['jjk', ['j', 'j', 'k']],
  ['\u001b[A\u001b[B', ['up', 'down']],
  ['\u001bOA\u001bOF', ['up', 'end']],
  ['\u001b[5~x\u001b[6~', ['page-up', 'x', 'page-down']],
  ['\r', ['enter']],
  ['\u001b', ['escape']],
  ['\u007f\u0003\u001a', ['backspace', 'ctrl-c', 'ctrl-z']],
  ['é日😀', ['é', '日', '😀']],
  // F5, Ctrl-Right and a tab mean nothing.
  ['\u001b[15~\u001b[1;5C\ta', ['a']]
])('%j is read as the keys %j', (text, keys) => {
  expect(keysIn(text)).toEqual(keys);
});

let keys: string[];
let reader: KeyReader;

beforeEach(() => {
  vi.useFakeTimers();
  keys = [];
  reader = new KeyReader({
    onKey: (key) => keys.push(key),
    onPaste: (text) => keys.push(`pasted ${text}`)
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  [['\u001b', '[A'], ['up']],
  [
    ['j\u001b[', '5~', 'k'],
    ['j', 'page-up', 'k']
  ],
  [
    ['\u001b', 'O', 'B\u001b', '[B'],
    ['down', 'down']
  ],
  [['\u001bq'], ['escape', 'q']]
])('a key that arrives in pieces is one key: %j', (pieces, expected) => {
  for (const piece of pieces) reader.take(piece);
  vi.runAllTimers();
  expect(keys).toEqual(expected);
});

test('Escape is a key when nothing follows it', () => {
  reader.take('\u001b');
  expect(keys).toEqual([]);
  vi.runAllTimers();
  expect(keys).toEqual(['escape']);
});

test('an unfinished key is dropped when the reader is closed', () => {
  reader.take('\u001b');
  reader.close();
  vi.runAllTimers();
  expect(keys).toEqual([]);
});

test.each([
  [['\u001b[200~fix\rq\u001b[201~j'], ['pasted fix\rq', 'j']],
  [
    ['k\u001b[20', '0~a\u001b[2', '01~\u001b[A'],
    ['k', 'pasted a', 'up']
  ]
])('pasted text is no keys: %j', (pieces, expected) => {
  for (const piece of pieces) reader.take(piece);
  vi.runAllTimers();
  expect(keys).toEqual(expected);
});

test('each piece of a key gives the next one its whole time', () => {
  reader.take('\u001b');
  vi.advanceTimersByTime(40);
  reader.take('[');
  vi.advanceTimersByTime(40);
  reader.take('A');
  vi.runAllTimers();
  expect(keys).toEqual(['up']);
});
