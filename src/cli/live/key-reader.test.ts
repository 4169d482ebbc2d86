import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { KeyReader } from './key-reader.ts';

let keys: string[];
let reader: KeyReader;

beforeEach(() => {
  vi.useFakeTimers();
  keys = [];
  reader = new KeyReader((key) => keys.push(key));
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
])('a key that comes in pieces is one key: %j', (pieces, expected) => {
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

test('what was begun is nothing once nobody listens', () => {
  reader.take('\u001b');
  reader.close();
  vi.runAllTimers();
  expect(keys).toEqual([]);
});
