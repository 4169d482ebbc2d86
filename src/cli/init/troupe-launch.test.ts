import { expect, test } from 'vitest';
import { isTame, troupeLaunch } from './troupe-launch.ts';

const { command, args } = troupeLaunch();

test.each([
  ['as it was written', {}, true],
  [
    'with keys and settings',
    { env: { X_KEY: 'x', TROUPE_ENGINES: 'x' } },
    true
  ],
  ['with toolsets', { args: [...args, '--toolsets', 'all'] }, true],
  ['with a program of its own', { command: './troupe' }, false],
  ['with a directory of its own', { cwd: 'there' }, false],
  ['with options of Node', { env: { NODE_OPTIONS: '--require ./x' } }, false],
  ['with a configuration', { args: [...args, '--config', './x.cjs'] }, false],
  ['with one by variable', { env: { TROUPE_CONFIG: './x.cjs' } }, false]
])('an entry %s is tried unasked, or not', (_, more, isTried) => {
  expect(isTame({ command, args, ...more })).toBe(isTried);
});
