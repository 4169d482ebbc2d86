import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  help,
  type MadeUp,
  madeUpCheck,
  madeUpDoctor,
  makeUp as makeUpIn,
  printed,
  range
} from '../../kit/agents/made-up-program.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
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
const doctor = () => madeUpDoctor(workspace);

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

test('a removed flag makes an engine not ready, with the next step', async () => {
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

test('all removed flags are reported, without values', async () => {
  const args = `['-j' + (model ? 4 : 8), '--mode=' + access, '-s', '--json', '-m']`;
  makeUp({ args, helps: printed([...help.slice(0, 3), '--json -m']) });
  expect((await found()).tested).toMatchObject({
    says: 'flags --mode, -j are gone',
    gone: ['--mode', '-j']
  });
  const probe = { verified: range, unlisted: ['-j', '--mode'] };
  makeUp({ args, helps: printed([...help.slice(0, 3), '--json -m']), probe });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
});

test('flags that work though no help lists them are not removed', async () => {
  const probe = { verified: range, unlisted: ['--model', '--json'] };
  makeUp({ helps: printed(help.slice(0, 3)), probe });
  expect((await found()).tested).toMatchObject({ says: 'verified', gone: [] });
});

test('each help page is asked once, and the login not twice', async () => {
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

test('a program is not run when its plugin declares no way to ask it', async () => {
  makeUp({ probe: {} });
  expect(await found()).toMatchObject({ ready: true, tested: null });
  expect((await doctor()).stdout).not.toContain('tested');
  expect(existsSync(join(workspace.home, 'calls'))).toBe(false);
});
