import { expect, test } from 'vitest';
import { compareReleases } from './releases.ts';

test('versions are ordered by their numbers', () => {
  const versions = ['0.9', '0.10.0-beta', '0.10', '0.10.1', 'v1.0.0'];
  const shuffled = [...versions].reverse();
  expect(shuffled.sort(compareReleases)).toEqual(versions);
  expect(compareReleases('1.2', '1.2.0')).toBe(0);
});
