import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
/** The foreign directory in which troupe is started. */
let cwd: string;
/** What code in it leaves behind when it is run. */
let trace: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write(
    'troupe.config.json',
    '{"engines": {"rehearsal": true}, "maxAccess": "read"}'
  );
  cwd = join(workspace.home, 'elsewhere');
  trace = join(workspace.home, 'trace');
  mkdirSync(cwd);
});

afterEach(() => workspace.remove());

function put(directory: string, name: string, text: string): void {
  const file = join(directory, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function code(): string {
  return `require('node:fs').writeFileSync(${JSON.stringify(trace)}, '');
    module.exports = { searchPlaces: ['other.json'] };`;
}

/** Foreign files that a configuration library would obey. */
const strangers: [name: string, text: () => string][] = [
  ['package.json', () => '{"name": "x",}'],
  ['package.json', () => '{"cosmiconfig": {"searchPlaces": ["other.json"]}}'],
  ['package.yaml', () => 'a: [b'],
  ['.config/config.json', () => '{bad'],
  ['.config/config.yaml', () => 'cosmiconfig: {searchStrategy: global}'],
  ['.config/config.js', code],
  ['.config/config.cjs', code]
];

describe.each(['the working directory', 'the workspace'])('in %s', (where) => {
  test.each(strangers)('%s is none of our business', async (name, textOf) => {
    const directory = where === 'the workspace' ? workspace.path : cwd;
    put(directory, name, textOf());
    put(directory, 'other.json', '{"maxAccess": "full"}');
    const flags = ['config', '--json', '--workspace', workspace.path];
    const options = { cwd: where === 'the workspace' ? directory : cwd };
    const { code, stdout, stderr } = await runCommand(
      workspace,
      flags,
      options
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout).settings).toContainEqual({
      path: ['maxAccess'],
      value: 'read',
      from: 'file'
    });
    expect(existsSync(trace)).toBe(false);
  });
});

test('a server runs no code of the directory it is started in', async () => {
  put(cwd, '.config/config.cjs', code());
  put(cwd, 'troupe.config.cjs', code());
  const server = await startServer(workspace, { cwd });
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
  expect(data.message).toContain('access read');
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(existsSync(trace)).toBe(false);
});

test('a configuration that cannot be read is reported with its file', async () => {
  const file = workspace.write('.trouperc.yaml', 'a: [b');
  const { stdout } = await runCommand(workspace, ['list', '--json']);
  const { error } = JSON.parse(stdout);
  expect(error.code).toBe('config_invalid');
  expect(error.message).toMatch(
    `The configuration in ${file} cannot be read: `
  );
  expect(error.message.match(/\.trouperc\.yaml/g)).toHaveLength(1);
});
