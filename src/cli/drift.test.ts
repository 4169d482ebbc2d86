import { expect, test } from 'vitest';
import { type Drift, mendDrift } from './drift.ts';

const gone: Drift = {
  says: 'flag --x is gone',
  verified: null,
  gone: ['--x']
};

function mended(install: string | undefined, oldest = '1.2.0') {
  const verified = { oldest, newest: '1.3.0' };
  const engine = { ...(install ? { install } : {}), probe: { verified } };
  return mendDrift(engine, gone, 'the plugin');
}

test.each(['npm install -g made-up', 'yarn global add @made/up'])(
  '"%s" installs the version that was tested',
  (install) => {
    expect(mended(install)).toBe(
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
])('with "%s" no command is made up', (install) => {
  expect(mended(install)).toMatch(/a version that was tested \(1\.2\.0 to 1/);
  expect(mended(install, '1.3.0')).toMatch(/that was tested \(1\.3\.0\)\.$/);
});

test('nothing needs mending when no flag is gone, or none was looked for', () => {
  for (const flags of [[], null])
    expect(mendDrift({}, { ...gone, gone: flags }, 'x')).toBeUndefined();
  expect(mendDrift({}, null, 'x')).toBeUndefined();
});
