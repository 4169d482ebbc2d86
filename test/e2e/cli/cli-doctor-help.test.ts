import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  help,
  type MadeUp,
  madeUpCheck,
  makeUp as makeUpIn,
  printed,
  range
} from '../../kit/agents/made-up-program.ts';
import { isAlive } from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const makeUp = (program?: MadeUp) => makeUpIn(workspace, program);
const found = () => madeUpCheck(workspace);

test('help may be on stderr, in colour, wrapped', async () => {
  const wrapped = [
    'Usage: made-up [-s <mode>] [--js',
    '  \u001b[1m--json\u001b[0m',
    '      Prints JSON, as long as nothing else is asked for with --mo-',
    '      del or without it',
    '  --[no-]model'
  ];
  makeUp({ helps: printed(wrapped, 'error') });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
});

test.each([
  ['nothing', ''],
  [
    'an error that names the flag',
    'console.error("unknown flag --help"); process.exit(1);'
  ],
  ['words without flags', printed(['See https://example.org for help.'])],
  ['none of the flags', printed(['-h, --help', '-v, --version'])],
  [
    'an error that names one',
    'console.error("error: unknown option \'--help\'. Did you mean --json?"); process.exit(2);'
  ],
  [
    'an error that names one, and exits with 0',
    printed(['Your settings are broken; run it with --json to see how.'])
  ],
  [
    'more than doctor keeps',
    `process.stdout.write('  --other --json -s\\n'.repeat(10_000)); ${printed(help)}`
  ],
  ['all of them, and fails', `${printed(help)} process.exit(1);`],
  [
    'half of them, and fails',
    `${printed(help.slice(0, 3))} process.exit(1);`.replace('-s, ', '')
  ]
])('help that gives %s never says that a flag is gone', async (_, helps) => {
  makeUp({ helps });
  expect(await found()).toMatchObject({
    ready: true,
    tested: { says: 'verified, flags not checked', gone: null }
  });
});

test('help that hangs is ended; its flags are not checked', async () => {
  const pid = join(workspace.home, 'pid');
  makeUp({
    version: '1.7.0',
    helps: `require('node:fs').writeFileSync(${JSON.stringify(pid)}, String(process.pid));
      setInterval(() => undefined, 1000);`
  });
  expect(await found()).toMatchObject({
    ready: true,
    tested: {
      says: 'newer than verified (1.6.2), flags not checked',
      gone: null
    }
  });
  const left = Number(readFileSync(pid, 'utf8'));
  expect(() => process.kill(left, 0)).toThrow('ESRCH');
});

test('flags that no help lists do not turn other output into help', async () => {
  const probe = { verified: range, unlisted: ['-s', '--json'] };
  makeUp({ probe, helps: printed(['Your settings are broken: see --log.']) });
  expect(await found()).toMatchObject({ ready: true, tested: { gone: null } });
});

test('a missing flag is not gone while other help did not come', async () => {
  const probe = { verified: range, help: [['--help'], ['exec', '--help']] };
  const helps = `if (args === '--help') { ${printed(help.slice(0, 4))} }
    else process.exit(1);`;
  makeUp({ helps, probe });
  expect((await found()).tested).toMatchObject({
    says: 'verified, flags not checked',
    gone: null
  });
});

test('what a program leaves running is ended, too', async () => {
  const pid = join(workspace.home, 'pid');
  const holding = `require('node:child_process').spawn(
      process.execPath, ['-e', 'setInterval(() => undefined, 1000)'],
      { stdio: 'inherit' }
    )`;
  makeUp({
    helps: `const child = ${holding};
      require('node:fs').writeFileSync(${JSON.stringify(pid)}, String(child.pid));
      child.unref();
      require('node:fs').writeSync(1, ${JSON.stringify(help.join('\n'))});
      process.exit();`
  });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
  const left = Number(readFileSync(pid, 'utf8'));
  await until('the end of what was left', () => !isAlive(left));
});
