import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { isStale, startsThisTroupe, troupeLaunch } from './troupe-launch.ts';

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
])(
  'only an entry of this copy of troupe is started without asking: %s',
  (_, more, isTried) => {
    expect(startsThisTroupe({ command, args, ...more })).toBe(isTried);
  }
);

/** Writes package.json to a folder and returns the path of the folder. */
function packageIn(folder: string, about: object): string {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const directory = join(workspace.path, folder);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'package.json');
  writeFileSync(file, JSON.stringify({ name: '@owner/troupe', ...about }));
  return directory;
}

test.each([
  ['a clone', 'troupe', {}],
  ['a clone of an unpublished package', 'troupe', { private: true }],
  ['an unpublished package', 'node_modules/troupe', { private: true }]
])('%s is started by its path', (_, folder, about) => {
  const directory = packageIn(folder, about);
  expect(troupeLaunch(directory)).toEqual({
    command: 'node',
    args: [join(directory, 'dist', 'troupe.cjs'), 'mcp']
  });
});

test('a published package is started by its name in package.json', () => {
  const directory = packageIn('node_modules/troupe', {});
  const launch = { command: 'npx', args: ['-y', '@owner/troupe', 'mcp'] };
  expect(troupeLaunch(directory)).toEqual(launch);
});

test('an entry that starts a package of the registry is stale for a clone', () => {
  for (const name of ['troupe', '@other/troupe'])
    expect(
      isStale({ command: 'npx', args: ['-y', name, 'mcp'] }, { command, args })
    ).toBe(true);
});
