import { expect, test } from 'vitest';
import { absolutePath, withAbsolutePath } from './environment.ts';

test('empty and relative entries are removed from PATH, and the rest keeps its order', () => {
  expect(absolutePath('.:/b::bin:/a:../x:')).toBe('/b:/a');
});

test('a PATH without absolute entries becomes the directories of the system', () => {
  for (const path of ['', '.', ':', 'bin:..'])
    expect(absolutePath(path)).toBe('/usr/bin:/bin');
});

test('an environment without PATH gets none', () => {
  expect(withAbsolutePath({ HOME: '/h' })).toEqual({ HOME: '/h' });
  expect(withAbsolutePath({ HOME: '.', PATH: '.:/a' })).toEqual({
    HOME: '.',
    PATH: '/a'
  });
});
