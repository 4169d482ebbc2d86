import { describe, expect, test } from 'vitest';
import { isSameProcess, parseIdentity } from './process-identity.ts';

const one = { pid: 12, start: '345', place: 'host boot space' };

describe('a process is the same', () => {
  test('only with the same pid, start and place', () => {
    expect(isSameProcess(one, { ...one })).toBe(true);
    expect(isSameProcess(one, { ...one, pid: 13 })).toBe(false);
    expect(isSameProcess(one, { ...one, start: '346' })).toBe(false);
    expect(isSameProcess(one, { ...one, place: 'host boot other' })).toBe(
      false
    );
  });
});

describe('an identity that was written down', () => {
  test('is read back as it was', () => {
    expect(parseIdentity(JSON.stringify(one))).toEqual(one);
  });

  test.each([
    ['half a line', JSON.stringify(one).slice(0, -1)],
    ['nothing', ''],
    ['no start', JSON.stringify({ pid: 12, place: 'x' })],
    ['no place', JSON.stringify({ pid: 12, start: '345' })],
    ['a pid of a group', JSON.stringify({ ...one, pid: 0 })],
    ['a pid of all processes', JSON.stringify({ ...one, pid: -1 })],
    ['half a pid', JSON.stringify({ ...one, pid: 1.5 })],
    ['a pid in quotes', JSON.stringify({ ...one, pid: '12' })]
  ])('is none with %s', (_, text) => {
    expect(parseIdentity(text)).toBeUndefined();
  });
});
