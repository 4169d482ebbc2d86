import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const init = (...args: string[]) =>
  runCommand(workspace, ['init', '--no-check', ...args]);
const pathOf = (name: string) => join(workspace.path, name);

const twice = '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}';

test.each<[string, string, () => unknown]>([
  [
    'a link that leads nowhere',
    'is a link that leads nowhere',
    () => symlinkSync('kept/mcp.json', pathOf('.mcp.json'))
  ],
  [
    'a file that is read-only',
    'is read-only',
    () => chmodSync(workspace.write('.mcp.json', '{}'), 0o444)
  ],
  [
    'a file of which programs would read another part',
    'has "mcpServers" more than once',
    () => workspace.write('.mcp.json', twice)
  ],
  [
    'what is not text',
    'is not UTF-8 text',
    () => writeFileSync(pathOf('.mcp.json'), Buffer.from([0x7b, 0xe4, 0x7d]))
  ]
])('init leaves %s, and prints the entry', async (_, problem, prepare) => {
  prepare();
  const facts = () =>
    existsSync(pathOf('.mcp.json'))
      ? readFileSync(pathOf('.mcp.json'), 'latin1')
      : readlinkSync(pathOf('.mcp.json'));
  const before = facts();
  const { code, stdout, stderr } = await init('claude', '--yes');
  expect(code).toBe(1);
  expect(stderr).toContain(`.mcp.json ${problem}, so it stays as it is`);
  expect(stderr).toContain('troupe: nothing was written\n');
  expect(JSON.parse(stdout)).toHaveProperty('mcpServers.agents.command');
  expect(facts()).toBe(before);
});

test('a read-only file that has the entry is no fault', async () => {
  await init('claude', '--yes');
  chmodSync(pathOf('.mcp.json'), 0o444);
  expect(await init('claude', '--yes')).toMatchObject({ code: 0 });
});

test('when one file cannot be written, the rest are', async () => {
  workspace.write('.codex', 'no folder');
  const args = ['claude', 'codex', 'cursor', '--yes'];
  const { code, stdout, stderr } = await init(...args, '--json');
  expect(code).toBe(1);
  expect(stderr).toContain('.codex/config.toml cannot be written (EEXIST).');
  const { clients } = JSON.parse(stdout);
  expect(clients.map(({ written }: { written: boolean }) => written)).toEqual([
    true,
    false,
    true
  ]);
  expect(clients[1].problem).toContain('cannot be written');
  expect(existsSync(pathOf('.cursor/mcp.json'))).toBe(true);
});

test('with --json, the lack of any client is an ordinary error', async () => {
  const { code, stdout, stderr } = await init('--yes', '--json');
  expect(code).toBe(1);
  const { error } = JSON.parse(stdout);
  expect(error).toMatchObject({ code: 'invalid_input' });
  expect(stderr).toBe(`troupe: ${error.message} ${error.hint}\n`);
  expect(error.message).toBe('No client was found: nothing was written.');
});

test('--remove says what stays, and takes no word of what to put in', async () => {
  await init('claude', '--yes', '--access', 'write');
  const wrong = await init('--remove', '--yes', '--access', 'read');
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toMatch(/--\w+ and --\w+ cannot be used together\./);
  const { code, stderr } = await init('--remove', '--yes');
  expect(code).toBe(0);
  expect(stderr).toContain(
    'troupe is removed; still here: maxAccess in troupe.config.json\n'
  );
  expect(existsSync(pathOf('.mcp.json'))).toBe(false);
});

test('a configuration that is not JSON is reported on one line', async () => {
  workspace.write('troupe.config.json', '{"maxConc');
  const { code, stderr } = await init('claude', '--yes', '--access', 'read');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^troupe: The configuration in .* Correct .*\n$/);
});

test('a configuration keeps its byte order mark', async () => {
  workspace.write('troupe.config.json', '\uFEFF{"maxDepth": 1}\n');
  const { code, stderr } = await init('claude', '--yes', '--access', 'read');
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const text = readFileSync(pathOf('troupe.config.json'), 'utf8');
  expect(text.slice(0, 2)).toBe('\uFEFF{');
  expect(JSON.parse(text.slice(1))).toEqual({ maxDepth: 1, maxAccess: 'read' });
});

test('a removed working directory is reported', () => {
  const script = 'mkdir gone; cd gone; rmdir ../gone; exec "$@"';
  const program = join(packageRoot, 'dist', 'troupe.cjs');
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', script, 'sh', process.execPath, program, 'list'],
    {
      cwd: workspace.path,
      env: testEnvironment(workspace),
      encoding: 'utf8'
    }
  );
  expect(status).toBe(1);
  expect(stderr).toContain('troupe: The current directory is gone. ');
});
