import { expect, test } from 'vitest';
import type { CliEngine } from '../../plugin/plugin.ts';
import {
  type Drift,
  driftOf,
  driftStep,
  releaseIn,
  versionIn
} from './version-check.ts';

const gone: Drift = {
  says: 'flag --x is gone',
  verified: null,
  gone: ['--x']
};

function stepFor(install: string | undefined, oldest = '1.2.0') {
  const verified = { oldest, newest: '1.3.0' };
  const engine = { ...(install ? { install } : {}), probe: { verified } };
  return driftStep(engine, gone, 'the plugin');
}

test.each(['npm install -g made-up', 'yarn global add @made/up'])(
  'after "%s" the step installs the version that was tested',
  (install) => {
    expect(stepFor(install)).toBe(
      `The flag --x is gone, so that runs fail: update the plugin, or install the version that was tested: ${install}@1.3.0`
    );
  }
);

test.each([
  undefined,
  'npm install -g made-up@latest',
  'npm install -g made-up && made-up setup',
  'npm install -g made-up another',
  'curl https://example.org/install | sh'
])('after "%s" the step names no command', (install) => {
  expect(stepFor(install)).toMatch(/a version that was tested \(1\.2\.0 to 1/);
  expect(stepFor(install, '1.3.0')).toMatch(/that was tested \(1\.3\.0\)\.$/);
});

test('there is nothing to do when no flag is gone, or flags were not checked', () => {
  for (const flags of [[], null])
    expect(driftStep({}, { ...gone, gone: flags }, 'x')).toBeUndefined();
  expect(driftStep({}, null, 'x')).toBeUndefined();
});

test.each([
  ['2.1.329 (Claude Code)', '2.1.329'],
  ['codex-cli 0.169.0', '0.169.0'],
  ['GitHub Copilot CLI 1.0.102.', '1.0.102'],
  ['v3.4', 'v3.4'],
  ['tool 1.2.3-rc2 (x86_64)', '1.2.3-rc'],
  ['2026.09.28-abc123', '2026.09.28'],
  ['version 7', undefined],
  ['', undefined]
])('the version in "%s" is %s', (line, expected) => {
  expect(releaseIn(line)).toBe(expected);
});

function printed(stdout: string, stderr = '') {
  const engine = { command: '/opt/foo', install: 'npm i -g @made/foo-cli' };
  return versionIn({ exitCode: 0, stdout, stderr, isCut: false }, engine);
}

test.each([
  ['in colour', '\u001b[32m1.5.0\u001b[0m\n', '1.5.0'],
  ['below news', 'A new version 9.9.9 is available!\n1.5.0', '1.5.0'],
  ['below its Node', 'Node v20.20.2\nfoo 1.5.0', 'foo 1.5.0'],
  ['above its Python', 'Foo/1.5.0\nPython 3.12', 'Foo/1.5.0'],
  ['with the name of its package', 'Python 3.12\n[foo-cli 1.5.0]\n', '1.5.0'],
  ['twice', 'foo 1.5.0\nBuilt from release 1.5.0', 'foo 1.5.0'],
  ['above words', 'Made Up 1.5.0.\nRun "foo update" for more.', 'Up 1.5.0.']
])('a version that is printed %s is found', (_, stdout, line) => {
  const { release, ...rest } = printed(stdout);
  expect(release).toBe('1.5.0');
  expect(rest.line).toContain(line);
  expect(rest.line).not.toContain('\u001b');
});

test.each([
  ['lines disagree', 'Node v20.20.2\nbar 1.5.0', 'Node v20.20.2'],
  [
    'both have its name',
    'foo 9.9.9 is available\nfoo 1.5.0',
    'foo 9.9.9 is available'
  ],
  ['there is none', '\n  I am foo. \n', 'I am foo.']
])('no version is reported when %s', (_, stdout, line) => {
  expect(printed(stdout)).toEqual({ line, release: undefined });
});

test('stderr counts when stdout has no version', () => {
  expect(printed('1.5.0', 'foo 9.9.9 is available').release).toBe('1.5.0');
  expect(printed('Hello', 'foo 1.5.0').release).toBe('1.5.0');
  expect(printed('', '')).toEqual({ line: null, release: undefined });
});

test('special characters in a name are matched literally', () => {
  const answer = { exitCode: 0, stderr: '', isCut: false };
  const stdout = 'gtk 3.2\nc++ 1.5.0';
  const { release } = versionIn({ ...answer, stdout }, { command: 'c++' });
  expect(release).toBe('1.5.0');
});

const flags = ['--one', '--two', '--three', '--four', '--five'];
const engine: CliEngine = {
  ...{ kind: 'cli', name: 'x', description: 'x', command: 'x' },
  args: () => flags,
  probe: { verified: { oldest: '1.2.0', newest: '1.3.0' } }
};

const help = (...listed: string[]) => ({
  ...{ exitCode: 0, stdout: listed.join('\n'), stderr: '', isCut: false }
});

test.each([
  [flags, '1.2.5', 'verified', []],
  [flags, '1.3.1', 'newer than verified (1.3.0)', []],
  [flags, '1.1.9', 'older than verified (1.2.0)', []],
  [flags, undefined, 'version unknown', []],
  [flags.slice(1), '1.2.5', 'flag --one is gone', ['--one']],
  [flags.slice(2), '1.2.5', 'flags --one, --two are gone', ['--one', '--two']],
  [flags.slice(3), '1.2.5', 'verified, flags not checked', null]
])('help with %j of version %s: %s', (listed, release, says, gone) => {
  expect(driftOf(engine, release, [help(...listed)])).toMatchObject({
    ...{ says, gone }
  });
});

test('flags are not judged by a page of help that is missing, cut or empty', () => {
  const most = help(...flags.slice(1));
  const goneIn = (...pages: Parameters<typeof driftOf>[2]) =>
    driftOf(engine, '1.2.5', pages)?.gone;
  expect(goneIn(most)).toEqual(['--one']);
  expect(goneIn(most, undefined)).toBeNull();
  expect(goneIn(most, help())).toBeNull();
  expect(goneIn({ ...most, isCut: true })).toBeNull();
});

test('an engine without help has no flags to judge, and none was tested', () => {
  const probe = { ...engine.probe, help: [] };
  expect(driftOf({ ...engine, probe }, '1.2.5', [])).toMatchObject({
    ...{ says: 'verified', gone: null }
  });
  expect(driftOf({ ...engine, probe: {} }, '1.2.5', [])).toBeNull();
});
