import { expect, test } from 'vitest';
import { compareReleases, releaseIn } from './release.ts';

test.each([
  ['2.1.329 (Claude Code)', '2.1.329'],
  ['codex-cli 0.169.0', '0.169.0'],
  ['GitHub Copilot CLI 1.0.102.', '1.0.102'],
  ['v3.4', 'v3.4'],
  ['tool 1.2.3-rc2 (x86_64)', '1.2.3-rc'],
  ['2026.09.28-abc123', '2026.09.28'],
  ['version 7', undefined],
  ['', undefined]
])('the version in "%s" is %s', (text, expected) => {
  expect(releaseIn(text)).toBe(expected);
});

test('versions are in the order of their numbers', () => {
  const versions = ['0.9', '0.10.0-beta', '0.10', '0.10.1', 'v1.0.0'];
  const shuffled = [...versions].reverse();
  expect(shuffled.sort(compareReleases)).toEqual(versions);
  expect(compareReleases('1.2', '1.2.0')).toBe(0);
});
