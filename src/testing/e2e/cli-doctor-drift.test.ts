import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../command-line.ts';
import { createTempWorkspace, type TempWorkspace } from '../temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const range = { oldest: '1.4.0', newest: '1.6.2' };

const help = [
  'Usage: made-up [options]',
  '',
  '  -s, --sandbox <mode>',
  '      --json            Print JSON',
  '  -m, --model <name>'
];

interface MadeUp {
  version?: string;
  /** What answers to `--help`. */
  helps?: string;
  probe?: object;
}

/** Puts a program and its plugin in place, which gives three flags. */
function makeUp({ version = '1.5.0', helps, probe }: MadeUp = {}) {
  const calls = JSON.stringify(join(workspace.home, 'calls'));
  workspace.program(
    'made-up',
    `const args = process.argv.slice(2).join(' ');
     require('node:fs').appendFileSync(${calls}, args + '\\n');
     if (args.includes('--help')) { ${helps ?? printed(help)} }
     else console.log(${JSON.stringify(version)});`
  );
  workspace.write(
    'made-up.mjs',
    `export default {
      kind: 'cli', name: 'made-up', description: 'x', command: 'made-up',
      install: 'npm install -g @made/up',
      args: ({ model, access }) => [
        'exec', '--json', '-s', access, ...(model ? ['--model', model] : [])
      ],
      probe: ${JSON.stringify(probe ?? { verified: range })}
    };`
  );
  workspace.write('.trouperc.json', '{"plugins": ["./made-up.mjs"]}');
}

function printed(lines: string[], stream = 'log'): string {
  return `console.${stream}(${JSON.stringify(lines.join('\n'))});`;
}

function doctor(...args: string[]) {
  const env = { PATH: workspace.bin };
  const flags = ['doctor', '--engines', 'made-up', ...args];
  return runCommand(workspace, flags, { env });
}

async function found() {
  const { code, stdout } = await doctor('--json');
  const { engines, next } = JSON.parse(stdout);
  return { code, ...engines[0], steps: next };
}

test.each([
  ['1.4.0', 'verified'],
  ['made-up 1.5.0 (build 7)', 'verified'],
  ['v1.6.2', 'verified'],
  ['1.6.3', 'newer than verified (1.6.2)'],
  ['1.10', 'newer than verified (1.6.2)'],
  ['1.3.99', 'older than verified (1.4.0)'],
  ['1.4.0-beta.2', 'older than verified (1.4.0)'],
  ['I am made up.', 'version unknown']
])('of a program that says "%s" doctor says "%s"', async (version, says) => {
  makeUp({ version });
  expect(await found()).toMatchObject({
    code: 0,
    version,
    ready: true,
    next: null,
    tested: { says, verified: range, gone: [] }
  });
  expect((await doctor()).stdout).toContain(`\n  tested     ${says}\n`);
});

test('a flag that is gone makes an engine not ready, and what to do is told', async () => {
  const others = [
    '      --model-provider <name>   and',
    '                       --modelled'
  ];
  makeUp({
    version: '1.7.0',
    helps: printed([...help.slice(0, 4), ...others])
  });
  const next =
    'The flag --model is gone, so that runs fail: update the plugin, or install the version that was tested: npm install -g @made/up@1.6.2';
  expect(await found()).toMatchObject({
    code: 0,
    ready: false,
    next,
    steps: [`made-up: ${next}`, expect.stringContaining('Try: ')],
    tested: { says: 'flag --model is gone', gone: ['--model'] }
  });
  const { stdout } = await doctor();
  expect(stdout).toContain('\nmade-up (cli): not ready\n');
  expect(stdout).toContain('\n  tested     flag --model is gone\n');
  expect(stdout).toContain(`\n  1. made-up: ${next}\n`);
});

test('for an engine of ours, what to update is troupe', async () => {
  const told = printed(['  -s, --sandbox  -C, --cd  -m, --model  -c']);
  workspace.program('codex', `console.log('codex-cli 99.1.0'); ${told}`);
  const env = { PATH: workspace.bin };
  const args = ['doctor', '--json', '--engines', 'codex'];
  const { stdout } = await runCommand(workspace, args, { env });
  expect(JSON.parse(stdout).engines[0].next).toMatch(
    /^The flags --dang\S+, --json, --skip\S+ are gone, so that runs fail: update troupe, or install the version that was tested: npm install -g @openai\/codex@\d+\.\d+\.\d+$/
  );
});

test('of several flags that are gone all are told', async () => {
  makeUp({ helps: printed(help.slice(0, 3)) });
  expect((await found()).tested).toMatchObject({
    says: 'flags --json, --model are gone',
    gone: ['--json', '--model']
  });
});

test('flags that work though no help tells them are not gone', async () => {
  const probe = { verified: range, unlisted: ['--model', '--json'] };
  makeUp({ helps: printed(help.slice(0, 3)), probe });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
});

test('help may be on stderr, in colour, wrapped, with another exit code', async () => {
  const wrapped = [
    'Usage: made-up [-s <mode>] [--js',
    '  \u001b[1m--json\u001b[0m',
    '      Prints JSON, as long as nothing else is asked for with --mo-',
    '      del or without it',
    '  --[no-]model'
  ];
  makeUp({ helps: `${printed(wrapped, 'error')} process.exitCode = 2;` });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
});

test('each place that tells flags is asked once, and the login not twice', async () => {
  const exec = ['exec', '--help'];
  const probe = { verified: range, help: [exec, exec, ['--help']] };
  const helps = `if (args === 'exec --help') { ${printed(['-s', '--json'])} }
    else { ${printed(['--model'])} }`;
  makeUp({ helps, probe });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
  const calls = readFileSync(join(workspace.home, 'calls'), 'utf8');
  expect(calls.trim().split('\n').sort()).toEqual([
    '--help',
    '--version',
    'exec --help'
  ]);
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

test('without tested versions the flags can be checked all the same', async () => {
  makeUp({ probe: { help: [['--help']] } });
  const tested = { says: 'not verified', verified: null, gone: [] };
  expect(await found()).toMatchObject({ ready: true, tested });
  makeUp({ probe: { help: [['--help']] }, helps: printed(help.slice(0, 4)) });
  expect(await found()).toMatchObject({
    ready: false,
    next: 'The flag --model is gone, so that runs fail: update the plugin, or install a version that was tested.',
    tested: { says: 'flag --model is gone' }
  });
});

test('a plugin that tells nothing of this is left alone', async () => {
  makeUp({ probe: {} });
  expect(await found()).toMatchObject({ ready: true, tested: null });
  expect((await doctor()).stdout).not.toContain('tested');
  const calls = readFileSync(join(workspace.home, 'calls'), 'utf8');
  expect(calls).toBe('--version\n--version\n');
});
