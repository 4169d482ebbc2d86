import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  type ClonedWorkspace,
  cloneOf,
  pongPlugin,
  untrusted
} from '../../kit/workspaces/cloned-workspace.ts';

let code: ClonedWorkspace;
let data: ClonedWorkspace;

beforeAll(() => {
  code = cloneOf(({ module }) => ({
    'troupe.config.mjs': `${module('configuration')}export default {};\n`
  }));
  data = cloneOf(({ script, module }) => ({
    'evil.sh': script('program'),
    'evil.mjs': pongPlugin(module('plugin')),
    'troupe.config.json': JSON.stringify({
      plugins: ['./evil.mjs'],
      engines: { claude: { command: './evil.sh' } }
    })
  }));
});

afterAll(() => {
  code.remove();
  data.remove();
});

const commands = [
  ['list'],
  ['log'],
  ['log', '--verify'],
  ['result', '1a2b3c4d'],
  ['watch'],
  ['wait'],
  ['cancel', '1a2b3c4d'],
  ['config'],
  ['roles'],
  ['engines'],
  ['doctor'],
  ['clean', '--dry-run'],
  ['clean'],
  ['trust'],
  ['trust', '--yes', '--config', 'none.json'],
  ['init', '--dry-run'],
  ['init', 'claude', '--yes', '--no-check'],
  ['__complete', '--', 'run', ''],
  ['--help'],
  ['--version']
];

test.each(commands.map((words) => [words.join(' '), words] as const))(
  'troupe %s runs no code of a clone',
  async (_, words) => {
    await runCommand(code, [...words], { env: untrusted });
    await runCommand(data, [...words], { env: untrusted });
    expect([code.ran(), data.ran()]).toEqual([[], []]);
  }
);

test('config says that a configuration is code and was not run', async () => {
  const { code: exit, stdout } = await runCommand(code, ['config'], {
    env: untrusted
  });
  expect(exit).toBe(0);
  expect(stdout).toContain('none; troupe.config.mjs is code and was not run');
});

test('showing a trusted workspace runs nothing either', async () => {
  await runCommand(code, ['trust', '--yes'], { env: untrusted });
  const { stdout } = await runCommand(code, ['trust'], { env: untrusted });
  expect(stdout).toContain('You trust ');
  expect(code.ran()).toEqual([]);
  await runCommand(code, ['list'], { env: untrusted });
  expect(code.ran()).toEqual(['configuration']);
});
