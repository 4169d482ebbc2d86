import { expect, test } from 'vitest';
import { absolutePath, withAbsolutePath } from './search-path.ts';

test('empty and relative entries leave PATH, and the others keep their order', () => {
  expect(absolutePath('.:/b::bin:/a:../x:')).toBe('/b:/a');
});

test('a PATH with nothing absolute in it names the directories of the system', () => {
  for (const path of ['', '.', ':', 'bin:..'])
    expect(absolutePath(path)).toBe('/usr/bin:/bin');
});

test('an environment without PATH stays without it', () => {
  expect(withAbsolutePath({ HOME: '/h' })).toEqual({ HOME: '/h' });
  expect(withAbsolutePath({ HOME: '.', PATH: '.:/a' })).toEqual({
    HOME: '.',
    PATH: '/a'
  });
});
