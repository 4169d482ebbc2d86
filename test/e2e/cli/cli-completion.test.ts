import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { type GoldenStage, goldenStage } from '../../golden/golden-stage.ts';
import { goldenTerminal, type Screen } from '../../golden/golden-terminal.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';

const terminal = goldenTerminal();
let stage: GoldenStage;

beforeAll(async () => {
  stage = await goldenStage({ running: true });
  const { workspace } = stage;
  const troupe = join(packageRoot, 'dist', 'troupe.cjs');
  const program = join(workspace.bin, 'troupe');
  writeFileSync(
    program,
    `#!/bin/sh\nexec '${process.execPath}' '${troupe}' "$@"\n`
  );
  chmodSync(program, 0o755);
  mkdirSync(join(workspace.path, 'own $(a)'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const path = locate(shell);
    if (path !== undefined) symlinkSync(path, join(workspace.bin, shell));
    const { stdout } = await runCommand(workspace, ['completion', shell]);
    workspace.write(`troupe.${shell}`, stdout);
  }
});

afterAll(async () => {
  terminal.close();
  await stage.stop();
});

const words = async (...typed: string[]) => {
  const { code, stdout, stderr } = await runCommand(stage.workspace, [
    ...['__complete', '--', ...typed]
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0]);
};

test.each([
  [['re'], ['result', 'report', 'record']],
  [['log', '--v'], ['--verify']],
  [['log', '--verify', '--v'], []],
  [
    ['run', 'gemini'],
    ['gemini-cli', 'gemini']
  ],
  [
    ['run', '--access', ''],
    ['read', 'write', 'full']
  ],
  [['run', '--access', 'read', 'code'], ['codex']],
  [['list', '--config', ''], [':files']],
  [['list', '--limit', ''], []],
  [['engines', '--engines', 'grok,mis'], ['grok,mistral']],
  [
    ['mcp', '--on-disconnect', ''],
    ['keep', 'stop']
  ],
  [['roles', 'code-'], ['code-reviewer']],
  [
    ['init', 'c'],
    ['claude', 'codex', 'copilot', 'cursor']
  ],
  [['init', 'claude', 'v'], ['vscode']],
  [['help', 'ro'], ['roles']],
  [['completion', 'z'], ['zsh']],
  [['council', ''], ['mcp']],
  [
    ['result', 'b000000'],
    ['b0000007', 'b0000006', 'b0000005', 'b0000004', 'b0000003']
  ],
  [['clean', 'a0000001', 'a'], ['a0000002']],
  [['nonsense', ''], []],
  [['list', '--workspace', '/nowhere', 'x'], []]
])('of %j it knows how to go on', async (typed, expected) => {
  expect(await words(...typed)).toEqual(expected);
});

test('running agents come first, and only these complete cancel', async () => {
  const [running = ''] = [...stage.ids.keys()].filter(
    (id) => stage.ids.get(id) === 'c0000008'
  );
  expect((await words('result', ''))[0]).toBe(running);
  expect(await words('cancel', '')).toEqual([running]);
  expect(await words('wait', '')).toEqual([running]);
});

test('ids are shown with their tasks', async () => {
  const { stdout } = await runCommand(stage.workspace, [
    ...['__complete', '--', 'result', 'b0000007']
  ]);
  expect(stdout).toBe('b0000007\tcodex: review the last commit\n');
});

test('no other command mentions the completing one', async () => {
  const { stdout } = await runCommand(stage.workspace, ['help']);
  expect(stdout).not.toContain('__complete');
  expect(await words('_')).toEqual([]);
});

test('a role whose name a shell would run is not offered', async () => {
  const { workspace } = stage;
  for (const name of ['$(touch harm)', 'a;b', 'a b', 'tab\there', 'zwölf'])
    workspace.write(`agents/${name}.md`, 'Do it.');
  const told = await words('roles', '');
  expect(told.filter((word) => !/^[a-z-]+$/.test(word ?? ''))).toEqual([
    'zwölf'
  ]);
});

const shells = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  zsh: ['zsh', '-f', '-i'],
  fish: ['fish', '--no-config', '-i']
};
/** What has to be done before the script is read. */
const before = {
  bash: 'source troupe.bash',
  zsh: 'autoload -U compinit; compinit -u -D; source ./troupe.zsh',
  fish: 'source troupe.fish'
};

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  const testShell = needing(
    `${shell} and tmux`,
    locate(shell) !== undefined && locate('tmux') !== undefined
  );
  testShell(`${shell} completes commands, flags and ids at Tab`, async () => {
    const { workspace } = stage;
    const screen = await terminal.start(
      {
        words: shells[shell],
        cwd: workspace.path,
        env: testEnvironment(workspace, { PS1: 'shell> ', SHELL: '/bin/sh' })
      },
      { columns: 120, rows: 30 }
    );
    await typed(screen, `${before[shell]}; echo is there`, 'Enter');
    await sees(screen, /^is there$/m);
    await typed(screen, 'troupe cance', 'Tab');
    await sees(screen, /troupe cancel $|troupe cancel$/m);
    await screen.press('C-u');
    await typed(screen, 'troupe log --ver', 'Tab');
    await sees(screen, /troupe log --verify/);
    await screen.press('C-u');
    await typed(screen, 'troupe list --workspace own', 'Tab');
    await sees(screen, /--workspace own\\ \\\$\\\(a\\\)\//);
    await screen.press('C-u');
    await typed(screen, 'troupe result b0000007', 'Tab');
    await screen.press('Enter');
    // And its prompt: a shell that is not reading yet takes Tab for a blank.
    await sees(screen, /not_logged_in[\s\S]*[>#]\s*$/);
    await typed(screen, 'troupe result a', 'Tab');
    await sees(screen, /a000000/);
    // Bash completes the common part, beeps, and then lists them all.
    await screen.press(...(shell === 'bash' ? ['Tab', 'Tab'] : ['Tab']));
    await sees(screen, /a0000002\s.*\s*a0000001|a0000001\s.*\s*a0000002/);
    if (shell !== 'bash') await sees(screen, /claude: count the files/);
    await screen.close();
  });
}

async function typed(screen: Screen, text: string, key: string): Promise<void> {
  await screen.type(text);
  await screen.press(key);
}

async function sees(screen: Screen, what: RegExp): Promise<void> {
  let shown = '';
  const look = async () => {
    // Shells colour what is typed.
    shown = (await screen.shown()).replace(/‹[a-z ]+\||›/g, '');
    return what.test(shown) || undefined;
  };
  await until(`${what}`, look, 40_000).catch((error: unknown) => {
    throw new Error(`${error}\n${shown}`);
  });
}
