import { expect, test } from 'vitest';
import { refusedArguments } from './classify-outcome.ts';

test.each([
  "error: unknown option '--x'",
  "error: unexpected argument '--x' found",
  'Unknown arguments: x, y',
  'prog: error: unrecognized arguments: --x',
  "tr: unrecognized option '--x'",
  "tr: invalid option -- 'x'",
  'unknown flag: --x',
  'flag provided but not defined: -x',
  "error: invalid value 'x' for '--sandbox <MODE>'",
  "error: option '--mode <mode>' argument 'x' is invalid. Use: y, z."
])('"%s" is a refusal of arguments, whatever is around it', (line) => {
  const text = `WARNING: something else\n${line}\r\n\nUsage: prog\n`;
  expect(refusedArguments(text)).toBe(line);
});

test.each([
  '',
  'API Error: 400 unknown option in the request',
  'The argument is that no option is unknown.',
  'connect: Invalid argument',
  "git: running\nerror: unknown option '--x'\nAPI error 401",
  'error: unknown model'
])('"%s" is no refusal of arguments', (text) => {
  expect(refusedArguments(text)).toBeUndefined();
});
