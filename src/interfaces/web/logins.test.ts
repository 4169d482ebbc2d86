import { expect, test } from 'vitest';
import { codeSeconds, Logins } from './logins.ts';

test('a code gives one token, of its scope', () => {
  const logins = new Logins();
  const code = logins.newCode('look');
  const login = logins.exchange(code);
  expect(login?.scope).toBe('look');
  expect(logins.scopeOf(`Bearer ${login?.token}`)).toBe('look');
  expect(logins.exchange(code)).toBeUndefined();
});

test('a code works up to its last second', () => {
  let now = 0;
  const logins = new Logins(() => now);
  const [early, late] = [logins.newCode('act'), logins.newCode('act')];
  now = codeSeconds * 1000;
  expect(logins.exchange(early)).toBeDefined();
  now += 1;
  expect(logins.exchange(late)).toBeUndefined();
});

test.each([undefined, '', 'Bearer ', 'Bearer x', 'Basic x', 'bearer'])(
  'the header %j has no scope',
  (header) => {
    const logins = new Logins();
    logins.exchange(logins.newCode('act'));
    expect(logins.scopeOf(header)).toBeUndefined();
  }
);

test('codes that are never used give way, the oldest first', () => {
  const logins = new Logins();
  const first = logins.newCode('act');
  const others = Array.from({ length: 1000 }, () => logins.newCode('look'));
  expect(logins.exchange(first)).toBeUndefined();
  expect(logins.exchange(others.at(-1) ?? '')).toBeDefined();
});
