import { expect, test } from 'vitest';
import { keysIn } from './keys.ts';

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
])('%j is %j', (text, keys) => {
  expect(keysIn(text)).toEqual(keys);
});
